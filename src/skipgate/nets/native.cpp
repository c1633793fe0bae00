// What training on a CPU spends its time on, each as one pass over memory. native.py compiles and loads this file.
#include <ATen/Dispatch.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/empty_strided.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

namespace {

// Everywhere here activations are (replica, batch, feature) by their shape and (replica, feature, batch) in memory, so that
// a unit's batch is one row, which stays in the cache from one loop to the next.
at::Tensor by_feature(const at::Tensor& x) { return x.transpose(1, 2).contiguous(); }

at::Tensor by_batch(const at::Tensor& h) {
  return at::empty_strided({h.size(0), h.size(2), h.size(1)}, {h.stride(0), 1, h.stride(1)}, h.options());
}

// Turns the row h into its normalised form and writes y = ReLU(scale h + shift); gives mean and variance.
template <typename T>
void normalise(T* h, T* y, int64_t count, T scale, T shift, T epsilon, bool relu, T& mean, T& variance, T& inverse) {
  T total = 0, squares = 0;
#pragma omp simd reduction(+ : total)
  for (int64_t j = 0; j < count; j++) total += h[j];
  mean = total / T(count);
#pragma omp simd reduction(+ : squares)
  for (int64_t j = 0; j < count; j++) {
    h[j] -= mean;
    squares += h[j] * h[j];
  }
  variance = squares / T(count);
  inverse = T(1) / std::sqrt(variance + epsilon);
  const T floor = relu ? T(0) : -std::numeric_limits<T>::infinity();
#pragma omp simd
  for (int64_t j = 0; j < count; j++) {
    h[j] *= inverse;
    const T value = h[j] * scale + shift;
    y[j] = value < floor ? floor : value;  // NaN stays NaN
  }
}

// The gradient of `normalise` to h, for one row; gives those to shift and to scale.
template <typename T>
void back(const T* grad, const T* y, const T* normal, T* to_h, int64_t count, T factor, bool relu, T& to_shift, T& to_scale) {
  T total = 0, product = 0;
#pragma omp simd reduction(+ : total, product)
  for (int64_t j = 0; j < count; j++) {
    const T value = relu && y[j] <= T(0) ? T(0) : grad[j];
    to_h[j] = value;
    total += value;
    product += value * normal[j];
  }
  const T a = total / T(count), b = product / T(count);
#pragma omp simd
  for (int64_t j = 0; j < count; j++) to_h[j] = factor * (to_h[j] - a - normal[j] * b);
  to_shift = total;
  to_scale = product;
}

// One layer forward, y = ReLU(BN(W x)) with the statistics of this batch, which move the running ones. The bias is never
// added: batch normalisation would take it away again. Turns h = W x into its normalised form, for the way back.
void forward_rows(const at::Tensor& h, const at::Tensor& y, const at::Tensor& inverse, const at::Tensor& scale,
                  const at::Tensor& shift, const at::Tensor& bias, const at::Tensor& running_mean,
                  const at::Tensor& running_var, double epsilon, double momentum, bool relu) {
  const int64_t rows = scale.numel(), count = h.size(2);
  AT_DISPATCH_FLOATING_TYPES(h.scalar_type(), "dot_norm_relu", [&] {
    const auto *a = scale.const_data_ptr<scalar_t>(), *b = shift.const_data_ptr<scalar_t>();
    const auto* lift = bias.const_data_ptr<scalar_t>();
    auto *hs = h.mutable_data_ptr<scalar_t>(), *ys = y.mutable_data_ptr<scalar_t>();
    auto *means = running_mean.mutable_data_ptr<scalar_t>(), *vars = running_var.mutable_data_ptr<scalar_t>();
    auto* inverses = inverse.mutable_data_ptr<scalar_t>();
    const scalar_t unbiased = scalar_t(count) / scalar_t(count - 1), share = momentum;
    for (int64_t r = 0; r < rows; r++) {
      scalar_t mean, variance;
      normalise<scalar_t>(hs + r * count, ys + r * count, count, a[r], b[r], epsilon, relu, mean, variance, inverses[r]);
      means[r] += share * (mean + lift[r] - means[r]);
      vars[r] += share * (variance * unbiased - vars[r]);
    }
  });
}

void backward_rows(const at::Tensor& grad, const at::Tensor& y, const at::Tensor& normal, const at::Tensor& inverse,
                   const at::Tensor& scale, const at::Tensor& to_h, const at::Tensor& to_scale, const at::Tensor& to_shift,
                   bool relu) {
  const int64_t rows = scale.numel(), count = normal.size(2);
  AT_DISPATCH_FLOATING_TYPES(y.scalar_type(), "dot_norm_relu_backward", [&] {
    const auto *g = grad.const_data_ptr<scalar_t>(), *ys = y.const_data_ptr<scalar_t>();
    const auto *n = normal.const_data_ptr<scalar_t>(), *a = scale.const_data_ptr<scalar_t>();
    const auto* inverses = inverse.const_data_ptr<scalar_t>();
    auto* out = to_h.mutable_data_ptr<scalar_t>();
    auto *shifts = to_shift.mutable_data_ptr<scalar_t>(), *scales = to_scale.mutable_data_ptr<scalar_t>();
    for (int64_t r = 0; r < rows; r++) {
      const int64_t at = r * count;
      back<scalar_t>(g + at, ys + at, n + at, out + at, count, a[r] * inverses[r], relu, shifts[r], scales[r]);
    }
  });
}

// A chain of Dot-BN-ReLU layers, all replicas, in training, with its gradient.
struct DotNormRelu : torch::autograd::Function<DotNormRelu> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, at::TensorList weights, at::TensorList scales,
                            at::TensorList shifts, at::TensorList biases, at::TensorList means, at::TensorList variances,
                            double epsilon, double momentum, bool last_relu) {
    TORCH_CHECK(x.size(1) > 1, "a batch of one image has no variance to normalise by");
    variable_list kept{by_feature(x)};  // then for each layer: weight, scale, normalised W x, 1 / deviation, y
    for (size_t i = 0; i < weights.size(); i++) {
      const bool last = i + 1 == weights.size();
      const at::Tensor h = at::bmm(weights[i], kept[KEPT * i]), inverse = at::empty_like(scales[i]);
      const at::Tensor y = last ? by_batch(h) : at::empty_like(h);
      const bool relu = last_relu || !last;
      forward_rows(h, y, inverse, scales[i], shifts[i], biases[i], means[i], variances[i], epsilon, momentum, relu);
      kept.insert(kept.end(), {weights[i], scales[i], h, inverse, y});
    }
    const at::Tensor y = kept.back();
    ctx->save_for_backward(kept);
    ctx->saved_data["last_relu"] = last_relu;
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto kept = ctx->get_saved_variables();
    const size_t layers = kept.size() / KEPT;
    variable_list out(1 + 6 * layers + 3);  // as `forward` takes them
    at::Tensor grad = by_feature(grads[0]);
    for (size_t i = layers; i-- > 0;) {
      const at::Tensor& x = kept[KEPT * i];  // the y of the layer before
      const at::Tensor &weight = kept[KEPT * i + 1], &scale = kept[KEPT * i + 2], &normal = kept[KEPT * i + 3];
      const at::Tensor &inverse = kept[KEPT * i + 4], &y = kept[KEPT * i + 5];
      const at::Tensor to_h = at::empty_like(normal), to_scale = at::empty_like(scale), to_shift = at::empty_like(scale);
      const bool relu = ctx->saved_data["last_relu"].toBool() || i + 1 < layers;
      backward_rows(grad, y, normal, inverse, scale, to_h, to_scale, to_shift, relu);
      out[1 + i] = at::bmm(to_h, by_feature(x));  // a product of contiguous rows is worth the copy
      out[1 + layers + i] = to_scale;
      out[1 + 2 * layers + i] = to_shift;
      grad = at::bmm(weight.transpose(1, 2), to_h);
    }
    out[0] = grad.transpose(1, 2);
    return out;
  }

  static constexpr size_t KEPT = 5;
};

at::Tensor dot_norm_relu(const at::Tensor& x, at::TensorList weights, at::TensorList scales, at::TensorList shifts,
                         at::TensorList biases, at::TensorList means, at::TensorList variances, double epsilon,
                         double momentum, bool last_relu) {
  return DotNormRelu::apply(x, weights, scales, shifts, biases, means, variances, epsilon, momentum, last_relu);
}

// The sum of the block equation, y = t f + c s, where one t and one c hold for a whole replica, or `each` element has its own.
template <bool each, typename T>
void mix(T* y, const T* f, const T* s, const T* t, const T* c, int64_t count) {
#pragma omp simd
  for (int64_t j = 0; j < count; j++) y[j] = t[each ? j : 0] * f[j] + c[each ? j : 0] * s[j];
}

template <bool each, typename T>
void mix_back(T* to_f, T* to_s, T* to_t, T* to_c, const T* grad, const T* f, const T* s, const T* t, const T* c, int64_t count) {
  T sum_t = 0, sum_c = 0;
#pragma omp simd reduction(+ : sum_t, sum_c)
  for (int64_t j = 0; j < count; j++) {
    to_f[j] = grad[j] * t[each ? j : 0];
    to_s[j] = grad[j] * c[each ? j : 0];
    const T along_f = grad[j] * f[j], along_s = grad[j] * s[j];
    if constexpr (each) to_t[j] = along_f, to_c[j] = along_s;
    if constexpr (!each) sum_t += along_f, sum_c += along_s;
  }
  if constexpr (!each) *to_t = sum_t, *to_c = sum_c;
}

struct GatedSum : torch::autograd::Function<GatedSum> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& wide_f, const at::Tensor& wide_s, const at::Tensor& wide_t,
                            const at::Tensor& wide_c) {
    const at::Tensor f = by_feature(wide_f), s = by_feature(wide_s), t = by_feature(wide_t), c = by_feature(wide_c);
    const at::Tensor y = by_batch(f);
    const bool each = t.numel() == f.numel();
    const int64_t parts = each ? 1 : t.numel(), count = f.numel() / parts;
    AT_DISPATCH_FLOATING_TYPES(f.scalar_type(), "gated_sum", [&] {
      const auto *fs = f.const_data_ptr<scalar_t>(), *ss = s.const_data_ptr<scalar_t>();
      const auto *ts = t.const_data_ptr<scalar_t>(), *cs = c.const_data_ptr<scalar_t>();
      auto* ys = y.mutable_data_ptr<scalar_t>();
      const auto work = each ? mix<true, scalar_t> : mix<false, scalar_t>;
      for (int64_t i = 0, at = 0; i < parts; i++, at += count) work(ys + at, fs + at, ss + at, ts + i, cs + i, count);
    });
    ctx->save_for_backward({f, s, t, c});
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor grad = by_feature(grads[0]), &f = saved[0], &s = saved[1], &t = saved[2], &c = saved[3];
    const at::Tensor to_f = by_batch(f), to_s = by_batch(s), to_t = by_batch(t), to_c = by_batch(c);
    const bool each = t.numel() == f.numel();
    const int64_t parts = each ? 1 : t.numel(), count = f.numel() / parts;
    AT_DISPATCH_FLOATING_TYPES(f.scalar_type(), "gated_sum_backward", [&] {
      const auto *gs = grad.const_data_ptr<scalar_t>(), *fs = f.const_data_ptr<scalar_t>(), *ss = s.const_data_ptr<scalar_t>();
      const auto *ts = t.const_data_ptr<scalar_t>(), *cs = c.const_data_ptr<scalar_t>();
      auto *df = to_f.mutable_data_ptr<scalar_t>(), *ds = to_s.mutable_data_ptr<scalar_t>();
      auto *dt = to_t.mutable_data_ptr<scalar_t>(), *dc = to_c.mutable_data_ptr<scalar_t>();
      const auto work = each ? mix_back<true, scalar_t> : mix_back<false, scalar_t>;
      for (int64_t i = 0, at = 0; i < parts; i++, at += count) {
        work(df + at, ds + at, dt + i, dc + i, gs + at, fs + at, ss + at, ts + i, cs + i, count);
      }
    });
    return {to_f, to_s, to_t, to_c};
  }
};

at::Tensor gated_sum(const at::Tensor& f, const at::Tensor& s, const at::Tensor& t, const at::Tensor& c) {
  return GatedSum::apply(f, s, t, c);
}

// From here to `norm_relu`: images as rows of channels, as channels-last tensors have them in memory. They are gone through in
// blocks of rows that stay in the cache, and in each by groups of channels that fill a vector; channels left over go one by one.
constexpr int LANES = 16;
constexpr int64_t BLOCK = 512;

// The numbers of a group of channels, at hand for all its rows.
template <typename T, int W>
struct Lanes {
  explicit Lanes(const T* from) { std::copy(from, from + W, at); }
  T operator[](int lane) const { return at[lane]; }
  T at[W];
};

template <typename Work>
void by_group(int64_t rows, int64_t channels, const Work& work) {
  for (int64_t first = 0; first < rows; first += BLOCK) {
    const int64_t count = std::min(BLOCK, rows - first);
    int64_t c = 0;
    for (; c + LANES <= channels; c += LANES) work.template operator()<LANES>(first * channels + c, count, c);
    for (; c < channels; c++) work.template operator()<1>(first * channels + c, count, c);
  }
}

// Mean and sum of squared deviations of each channel: exact in a block, blocks joined as Chan et al. 1979 do.
template <typename T>
void moments(const T* x, int64_t rows, int64_t channels, double* mean, double* squares) {
  by_group(rows, channels, [&]<int W>(int64_t at, int64_t count, int64_t c) {
    T total[W] = {}, deviation[W] = {}, middle[W];
    for (int64_t r = 0; r < count; r++) {
#pragma omp simd
      for (int l = 0; l < W; l++) total[l] += x[at + r * channels + l];
    }
    for (int l = 0; l < W; l++) middle[l] = total[l] / T(count);
    for (int64_t r = 0; r < count; r++) {
#pragma omp simd
      for (int l = 0; l < W; l++) {
        const T d = x[at + r * channels + l] - middle[l];
        deviation[l] += d * d;
      }
    }
    const double before = double(at / channels), all = before + double(count);
    for (int l = 0; l < W; l++) {
      const double step = double(middle[l]) - mean[c + l];
      mean[c + l] += step * double(count) / all;
      squares[c + l] += double(deviation[l]) + step * step * before * double(count) / all;
    }
  });
}

// What BN does to a channel, a x + b, from its mean and 1 / deviation.
template <typename T>
void lines(const T* scale, const T* shift, const T* mean, const T* inverse, int64_t channels, std::vector<T>& a, std::vector<T>& b) {
  for (int64_t c = 0; c < channels; c++) a[c] = scale[c] * inverse[c], b[c] = shift[c] - mean[c] * a[c];
}

// The gradient before ReLU.
template <typename T>
T through(T value, T a, T b, T grad) { return value * a + b <= T(0) ? T(0) : grad; }

template <typename T>
void activate(const T* x, T* y, const std::vector<T>& a, const std::vector<T>& b, int64_t rows) {
  const int64_t channels = a.size();
  by_group(rows, channels, [&]<int W>(int64_t at, int64_t count, int64_t c) {
    const Lanes<T, W> aw(&a[c]), bw(&b[c]);
    for (int64_t r = 0; r < count; r++) {
#pragma omp simd
      for (int l = 0; l < W; l++) {
        const T value = x[at + r * channels + l] * aw[l] + bw[l];
        y[at + r * channels + l] = value < T(0) ? T(0) : value;  // NaN stays NaN
      }
    }
  });
}

// Sums over rows of the gradient, and of its product with x - mean.
template <typename T>
void sums(const T* x, const T* grad, const T* mean, const std::vector<T>& a, const std::vector<T>& b, int64_t rows, double* total,
          double* product) {
  const int64_t channels = a.size();
  by_group(rows, channels, [&]<int W>(int64_t at, int64_t count, int64_t c) {
    const Lanes<T, W> aw(&a[c]), bw(&b[c]), mw(mean + c);
    T sum[W] = {}, along[W] = {};
    for (int64_t r = 0; r < count; r++) {
#pragma omp simd
      for (int l = 0; l < W; l++) {
        const T value = x[at + r * channels + l], g = through(value, aw[l], bw[l], grad[at + r * channels + l]);
        sum[l] += g;
        along[l] += g * (value - mw[l]);
      }
    }
    for (int l = 0; l < W; l++) total[c + l] += double(sum[l]), product[c + l] += double(along[l]);
  });
}

// The gradient to x: a (g - even - slope (x - mean)).
template <typename T>
void to_images(const T* x, const T* grad, T* out, const T* mean, const std::vector<T>& a, const std::vector<T>& b,
               const std::vector<T>& even, const std::vector<T>& slope, int64_t rows) {
  const int64_t channels = a.size();
  by_group(rows, channels, [&]<int W>(int64_t at, int64_t count, int64_t c) {
    const Lanes<T, W> aw(&a[c]), bw(&b[c]), mw(mean + c), ew(&even[c]), sw(&slope[c]);
    for (int64_t r = 0; r < count; r++) {
#pragma omp simd
      for (int l = 0; l < W; l++) {
        const T value = x[at + r * channels + l], g = through(value, aw[l], bw[l], grad[at + r * channels + l]);
        out[at + r * channels + l] = aw[l] * (g - ew[l] - sw[l] * (value - mw[l]));
      }
    }
  });
}

// y = ReLU(BN(x)) with the statistics of this batch, which move the running ones.
struct NormRelu : torch::autograd::Function<NormRelu> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& scale, const at::Tensor& shift,
                            const at::Tensor& running_mean, const at::Tensor& running_var, double epsilon, double momentum) {
    const int64_t channels = x.size(1), rows = x.numel() / channels;
    TORCH_CHECK(rows > 1, "a batch of one number has no variance to normalise by");
    const at::Tensor y = at::empty_like(x), means = at::empty_like(scale), inverses = at::empty_like(scale);
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "norm_relu", [&] {
      std::vector<double> mean(channels), squares(channels);
      std::vector<scalar_t> a(channels), b(channels);
      const auto* xs = x.const_data_ptr<scalar_t>();
      moments<scalar_t>(xs, rows, channels, mean.data(), squares.data());
      auto *m = means.mutable_data_ptr<scalar_t>(), *inverse = inverses.mutable_data_ptr<scalar_t>();
      auto *moving = running_mean.mutable_data_ptr<scalar_t>(), *varying = running_var.mutable_data_ptr<scalar_t>();
      for (int64_t c = 0; c < channels; c++) {
        m[c] = scalar_t(mean[c]);
        inverse[c] = scalar_t(1 / std::sqrt(squares[c] / double(rows) + epsilon));
        moving[c] += scalar_t(momentum * (mean[c] - double(moving[c])));
        varying[c] += scalar_t(momentum * (squares[c] / double(rows - 1) - double(varying[c])));
      }
      lines<scalar_t>(scale.const_data_ptr<scalar_t>(), shift.const_data_ptr<scalar_t>(), m, inverse, channels, a, b);
      activate<scalar_t>(xs, y.mutable_data_ptr<scalar_t>(), a, b, rows);
    });
    ctx->save_for_backward({x, scale, shift, means, inverses});
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &scale = saved[1], &shift = saved[2], &means = saved[3], &inverses = saved[4];
    const at::Tensor grad = grads[0].contiguous(at::MemoryFormat::ChannelsLast);
    const at::Tensor to_x = at::empty_like(x), to_scale = at::empty_like(scale), to_shift = at::empty_like(scale);
    const int64_t channels = x.size(1), rows = x.numel() / channels;
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "norm_relu_backward", [&] {
      const auto *xs = x.const_data_ptr<scalar_t>(), *gs = grad.const_data_ptr<scalar_t>();
      const auto *m = means.const_data_ptr<scalar_t>(), *inverse = inverses.const_data_ptr<scalar_t>();
      std::vector<scalar_t> a(channels), b(channels), even(channels), slope(channels);
      std::vector<double> total(channels), product(channels);
      lines<scalar_t>(scale.const_data_ptr<scalar_t>(), shift.const_data_ptr<scalar_t>(), m, inverse, channels, a, b);
      sums<scalar_t>(xs, gs, m, a, b, rows, total.data(), product.data());
      auto *shifts = to_shift.mutable_data_ptr<scalar_t>(), *scales = to_scale.mutable_data_ptr<scalar_t>();
      for (int64_t c = 0; c < channels; c++) {
        shifts[c] = scalar_t(total[c]);
        scales[c] = scalar_t(product[c] * double(inverse[c]));
        even[c] = scalar_t(total[c] / double(rows));
        slope[c] = scalar_t(product[c] * double(inverse[c]) * double(inverse[c]) / double(rows));
      }
      to_images<scalar_t>(xs, gs, to_x.mutable_data_ptr<scalar_t>(), m, a, b, even, slope, rows);
    });
    return {to_x, to_scale, to_shift, {}, {}, {}, {}};
  }
};

at::Tensor norm_relu(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& shift, const at::Tensor& running_mean,
                     const at::Tensor& running_var, double epsilon, double momentum) {
  return NormRelu::apply(x, scale, shift, running_mean, running_var, epsilon, momentum);
}

// One step of NAdam (Dozat 2016) on flat tensors, in place, the moments m and v moved first:
// p -= (a g + b m) / (sqrt(v / unbias) + epsilon). Leaves the gradient at 0, ready for the next batch.
template <typename T>
void step(T* p, T* grad, T* m, T* v, int64_t count, T beta1, T beta2, T a, T b, T unbias, T epsilon, T decay) {
#pragma omp simd
  for (int64_t i = 0; i < count; i++) {
    const T g = grad[i] + decay * p[i];
    m[i] += (1 - beta1) * (g - m[i]);
    v[i] = beta2 * v[i] + (1 - beta2) * g * g;
    p[i] -= (a * g + b * m[i]) / (std::sqrt(v[i] / unbias) + epsilon);
    grad[i] = 0;
  }
}

void nadam(const at::Tensor& p, const at::Tensor& grad, const at::Tensor& m, const at::Tensor& v, double beta1, double beta2,
           double a, double b, double unbias, double epsilon, double decay) {
  AT_DISPATCH_FLOATING_TYPES(p.scalar_type(), "nadam", [&] {
    auto *ps = p.mutable_data_ptr<scalar_t>(), *ms = m.mutable_data_ptr<scalar_t>(), *vs = v.mutable_data_ptr<scalar_t>();
    auto* gs = grad.mutable_data_ptr<scalar_t>();
    step<scalar_t>(ps, gs, ms, vs, p.numel(), beta1, beta2, a, b, unbias, epsilon, decay);
  });
}

}  // namespace

TORCH_LIBRARY(skipgate, library) {
  library.def("dot_norm_relu", &dot_norm_relu);
  library.def("gated_sum", &gated_sum);
  library.def("norm_relu", &norm_relu);
  library.def("nadam", &nadam);
}
