// What training on a CPU spends its time on, each as one pass over memory. native.py compiles and loads this file.
#include <ATen/Dispatch.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <tuple>
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

// From here on: images as rows of channels, as channels-last tensors have them in memory. They are gone through in blocks that
// stay in the cache, and in each by lanes that fill a few vectors. Where there are fewer channels than that, several rows are
// taken for one, so that each channel has several lanes; lanes left over go by smaller groups.
constexpr int64_t WIDE = 64;
constexpr int64_t BLOCK = 8192;

// How many lanes a channel has.
int64_t repeats(const at::Tensor& x) {
  const int64_t channels = x.size(1);
  return WIDE % channels == 0 && x.size(2) * x.size(3) % (WIDE / channels) == 0 ? WIDE / channels : 1;
}

// The numbers of a group of lanes, at hand for all its rows.
template <typename T, int W>
struct Lanes {
  explicit Lanes(const T* from) { std::copy(from, from + W, at); }
  T operator[](int lane) const { return at[lane]; }
  T at[W];
};

// Does work<W>(first number, rows, first lane) for every block of rows of `lanes` numbers and every group of lanes.
template <typename Work>
void by_group(int64_t rows, int64_t lanes, const Work& work) {
  const int64_t block = std::max<int64_t>(BLOCK / lanes, 1);
  for (int64_t first = 0; first < rows; first += block) {
    const int64_t count = std::min(block, rows - first);
    int64_t c = 0;
    for (; c + WIDE <= lanes; c += WIDE) work.template operator()<WIDE>(first * lanes + c, count, c);
    for (; c + 16 <= lanes; c += 16) work.template operator()<16>(first * lanes + c, count, c);
    for (; c < lanes; c++) work.template operator()<1>(first * lanes + c, count, c);
  }
}

// Mean and sum of squared deviations over the rows so far, by lane.
struct Moments {
  explicit Moments(int64_t lanes) : mean(lanes), squares(lanes) {}

  // Two groups joined as Chan et al. 1979 do: `more` rows in a lane that has had `before`.
  void join(int64_t lane, double before, double more, double other_mean, double other_squares) {
    const double step = other_mean - mean[lane], share = more / (before + more);
    mean[lane] += step * share;
    squares[lane] += other_squares + step * step * before * share;
  }
  std::vector<double> mean, squares;
  int64_t rows = 0;
};

// More rows; exact in a block.
template <typename T>
void add_moments(Moments& so_far, const T* x, int64_t count) {
  const int64_t lanes = so_far.mean.size(), rows = count / lanes;
  by_group(rows, lanes, [&]<int W>(int64_t at, int64_t count, int64_t c) {
    T total[W] = {}, deviation[W] = {}, middle[W];
    for (int64_t r = 0; r < count; r++) {
#pragma omp simd
      for (int l = 0; l < W; l++) total[l] += x[at + r * lanes + l];
    }
    for (int l = 0; l < W; l++) middle[l] = total[l] / T(count);
    for (int64_t r = 0; r < count; r++) {
#pragma omp simd
      for (int l = 0; l < W; l++) {
        const T d = x[at + r * lanes + l] - middle[l];
        deviation[l] += d * d;
      }
    }
    const double before = double(so_far.rows + at / lanes);
    for (int l = 0; l < W; l++) so_far.join(c + l, before, double(count), double(middle[l]), double(deviation[l]));
  });
  so_far.rows += rows;
}

// What BN takes from a batch, mean and 1 / deviation of each channel.
struct Statistics {
  at::Tensor mean, inverse;
};

// Moves the running statistics too. The lanes of a channel are joined into its first one.
template <typename T>
Statistics settle(Moments& found, const at::Tensor& like, const at::Tensor& running_mean, const at::Tensor& running_var,
                  double epsilon, double momentum) {
  const Statistics made{at::empty_like(like), at::empty_like(like)};
  auto *m = made.mean.mutable_data_ptr<T>(), *inverse = made.inverse.mutable_data_ptr<T>();
  auto *moving = running_mean.mutable_data_ptr<T>(), *varying = running_var.mutable_data_ptr<T>();
  const int64_t channels = like.numel(), lanes = found.mean.size();
  const double each = double(found.rows), rows = each * double(lanes / channels);
  for (int64_t c = 0; c < channels; c++) {
    for (int64_t l = c + channels; l < lanes; l += channels) {
      found.join(c, each * double(l / channels), each, found.mean[l], found.squares[l]);
    }
    m[c] = T(found.mean[c]);
    inverse[c] = T(1 / std::sqrt(found.squares[c] / rows + epsilon));
    moving[c] += T(momentum * (found.mean[c] - double(moving[c])));
    varying[c] += T(momentum * (found.squares[c] / (rows - 1) - double(varying[c])));
  }
  return made;
}

// BN as a line a x + b for each lane.
template <typename T>
struct Line {
  Line(const at::Tensor& scale, const at::Tensor& shift, const Statistics& of, int64_t repeats)
      : channels(scale.numel()), mean(channels * repeats), inverse(mean.size()), a(mean.size()), b(mean.size()) {
    const T *up = scale.const_data_ptr<T>(), *lift = shift.const_data_ptr<T>();
    const T *means = of.mean.const_data_ptr<T>(), *inverses = of.inverse.const_data_ptr<T>();
    for (int64_t l = 0; l < lanes(); l++) {
      const int64_t c = l % channels;
      mean[l] = means[c], inverse[l] = inverses[c];
      a[l] = up[c] * inverse[l], b[l] = lift[c] - mean[l] * a[l];
    }
  }
  int64_t lanes() const { return mean.size(); }
  int64_t channels;
  std::vector<T> mean, inverse, a, b;
};

template <typename T>
void activate(const T* x, T* y, const Line<T>& line, int64_t count) {
  const int64_t lanes = line.lanes();
  by_group(count / lanes, lanes, [&]<int W>(int64_t at, int64_t count, int64_t c) {
    const Lanes<T, W> aw(&line.a[c]), bw(&line.b[c]);
    for (int64_t r = 0; r < count; r++) {
#pragma omp simd
      for (int l = 0; l < W; l++) {
        const T value = x[at + r * lanes + l] * aw[l] + bw[l];
        y[at + r * lanes + l] = value < T(0) ? T(0) : value;  // NaN stays NaN
      }
    }
  });
}

// The gradient before ReLU.
template <typename T>
T through(T value, T a, T b, T grad) { return value * a + b <= T(0) ? T(0) : grad; }

// Sums of the gradient before ReLU, and of its product with x - mean, by lane.
struct Sums {
  explicit Sums(int64_t lanes) : total(lanes), product(lanes) {}
  std::vector<double> total, product;
};

// More rows; `before` takes the gradient before ReLU, if it is wanted.
template <bool wanted, typename T>
void add_sums(Sums& so_far, const T* x, const T* grad, T* before, const Line<T>& line, int64_t count) {
  const int64_t lanes = line.lanes();
  by_group(count / lanes, lanes, [&]<int W>(int64_t at, int64_t count, int64_t c) {
    const Lanes<T, W> aw(&line.a[c]), bw(&line.b[c]), mw(&line.mean[c]);
    T sum[W] = {}, along[W] = {};
    for (int64_t r = 0; r < count; r++) {
#pragma omp simd
      for (int l = 0; l < W; l++) {
        const T value = x[at + r * lanes + l], g = through(value, aw[l], bw[l], grad[at + r * lanes + l]);
        if constexpr (wanted) before[at + r * lanes + l] = g;
        sum[l] += g;
        along[l] += g * (value - mw[l]);
      }
    }
    for (int l = 0; l < W; l++) so_far.total[c + l] += double(sum[l]), so_far.product[c + l] += double(along[l]);
  });
}

// How the gradient to x follows from that before ReLU, a (g - even - slope (x - mean)), and those to scale and shift.
template <typename T>
struct Slope {
  Slope(const Sums& sums, const Line<T>& line, int64_t count, const at::Tensor& to_scale, const at::Tensor& to_shift)
      : even(line.lanes()), slope(line.lanes()) {
    auto *scales = to_scale.mutable_data_ptr<T>(), *shifts = to_shift.mutable_data_ptr<T>();
    const double rows = double(count / line.channels);
    for (int64_t c = 0; c < line.channels; c++) {
      double total = 0, along = 0;
      for (int64_t l = c; l < line.lanes(); l += line.channels) {
        total += sums.total[l];
        along += sums.product[l] * double(line.inverse[c]);
      }
      shifts[c] = T(total);
      scales[c] = T(along);
      for (int64_t l = c; l < line.lanes(); l += line.channels) {
        even[l] = T(total / rows);
        slope[l] = T(along * double(line.inverse[c]) / rows);
      }
    }
  }
  std::vector<T> even, slope;
};

template <typename T>
void to_images(const T* x, const T* grad, T* out, const Line<T>& line, const Slope<T>& by, int64_t count) {
  const int64_t lanes = line.lanes();
  by_group(count / lanes, lanes, [&]<int W>(int64_t at, int64_t count, int64_t c) {
    const Lanes<T, W> aw(&line.a[c]), bw(&line.b[c]), mw(&line.mean[c]), ew(&by.even[c]), sw(&by.slope[c]);
    for (int64_t r = 0; r < count; r++) {
#pragma omp simd
      for (int l = 0; l < W; l++) {
        const T value = x[at + r * lanes + l], g = through(value, aw[l], bw[l], grad[at + r * lanes + l]);
        out[at + r * lanes + l] = aw[l] * (g - ew[l] - sw[l] * (value - mw[l]));
      }
    }
  });
}

at::Tensor by_rows(const at::Tensor& x) { return x.contiguous(at::MemoryFormat::ChannelsLast); }

void check_variance(const at::Tensor& x) {
  TORCH_CHECK(x.numel() > x.size(1), "a batch of one number has no variance to normalise by");
}

// y = ReLU(BN(x)) with the statistics of this batch, which move the running ones.
struct NormRelu : torch::autograd::Function<NormRelu> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& scale, const at::Tensor& shift,
                            const at::Tensor& running_mean, const at::Tensor& running_var, double epsilon, double momentum) {
    check_variance(x);
    const at::Tensor y = at::empty_like(x);
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "norm_relu", [&] {
      const auto* xs = x.const_data_ptr<scalar_t>();
      Moments moments(x.size(1) * repeats(x));
      add_moments(moments, xs, x.numel());
      const auto [mean, inverse] = settle<scalar_t>(moments, scale, running_mean, running_var, epsilon, momentum);
      activate(xs, y.mutable_data_ptr<scalar_t>(), Line<scalar_t>(scale, shift, {mean, inverse}, repeats(x)), x.numel());
      ctx->save_for_backward({x, scale, shift, mean, inverse});
    });
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &scale = saved[1], &shift = saved[2];
    const at::Tensor grad = by_rows(grads[0]);
    const at::Tensor to_x = at::empty_like(x), to_scale = at::empty_like(scale), to_shift = at::empty_like(scale);
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "norm_relu_backward", [&] {
      const auto *xs = x.const_data_ptr<scalar_t>(), *gs = grad.const_data_ptr<scalar_t>();
      const Line<scalar_t> line(scale, shift, {saved[3], saved[4]}, repeats(x));
      Sums sums(line.lanes());
      add_sums<false, scalar_t>(sums, xs, gs, nullptr, line, x.numel());
      const Slope<scalar_t> slope(sums, line, x.numel(), to_scale, to_shift);
      to_images(xs, gs, to_x.mutable_data_ptr<scalar_t>(), line, slope, x.numel());
    });
    return {to_x, to_scale, to_shift, {}, {}, {}, {}};
  }
};

at::Tensor norm_relu(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& shift, const at::Tensor& running_mean,
                     const at::Tensor& running_var, double epsilon, double momentum) {
  return NormRelu::apply(x, scale, shift, running_mean, running_var, epsilon, momentum);
}

// Some images of a batch.
struct Few {
  int64_t first, count;
  at::Tensor of(const at::Tensor& x) const { return x.narrow(0, first, count); }
};

template <typename Work>
void by_few(int64_t count, int64_t step, const Work& work) {
  for (int64_t first = 0; first < count; first += step) work(Few{first, std::min(step, count - first)});
}

// How many images have so many bytes: as a rule those that fit into a core's own cache.
constexpr int64_t CACHE = 1 << 20;

int64_t fitting(const at::Tensor& x, int64_t bytes = CACHE) {
  return std::clamp<int64_t>(bytes * x.size(0) / int64_t(x.nbytes()), 1, x.size(0));
}

// A convolution of one network, as PyTorch takes it.
struct Map {
  Map(const at::Tensor& weights, int64_t by)
      : weight(by_rows(weights[0])), stride{by, by}, pad{weight.size(2) / 2, weight.size(3) / 2} {}

  at::Tensor forward(const at::Tensor& x) const {
    return by_rows(at::convolution(x, weight, {}, stride, pad, {1, 1}, false, {0, 0}, 1));
  }

  // Gives the gradient to x, and adds to that of the weight, which lies in memory as `weight` does.
  at::Tensor backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& to_weight) const {
    const at::OptionalIntArrayRef no_bias;
    const auto [to_x, part, _] =
        at::convolution_backward(grad, x, weight, no_bias, stride, pad, {1, 1}, false, {0, 0}, 1, {true, true, false});
    to_weight.add_(part);
    return by_rows(to_x);
  }

  // How many images are best taken at a time: more where weights are large, as these are fetched anew each time.
  int64_t few(const at::Tensor& x) const { return fitting(x, std::max<int64_t>(CACHE, 4 * weight.nbytes())); }

  at::Tensor weight;
  std::array<int64_t, 2> stride, pad;
};

// A layer of the chain below on its way back.
template <typename T>
struct Way {
  // The gradient to a few of its inputs, in place of that before ReLU, which must be there for all.
  at::Tensor to_input(const Few& few) const {
    const at::Tensor xs = few.of(x), gs = few.of(before);
    to_images(xs.const_data_ptr<T>(), gs.const_data_ptr<T>(), gs.mutable_data_ptr<T>(), line, slope, xs.numel());
    return gs;
  }
  at::Tensor x, before;
  Line<T> line;
  Slope<T> slope;
};

// A chain of BN-ReLU-Conv layers of one network in training, and the shortcut that it is added to, if any. It takes a few
// images at a time: what BN-ReLU gives is still in the cache when the convolution wants it, and so is what that gives when the
// shortcut is added and its moments are taken. The way back takes BN-ReLU once more instead of having kept what it gave.
struct NormReluConv : torch::autograd::Function<NormReluConv> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const std::optional<at::Tensor>& shortcut,
                            at::TensorList weights, at::TensorList scales, at::TensorList shifts, at::TensorList means,
                            at::TensorList variances, at::IntArrayRef strides, double epsilon, double momentum) {
    check_variance(x);
    variable_list kept{x};  // then for each layer: weight, scale, shift, mean, 1 / deviation, ReLU(BN(x)) if all fits, y
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "norm_relu_conv", [&] {
      Moments moments(x.size(1) * repeats(x));
      add_moments(moments, x.const_data_ptr<scalar_t>(), x.numel());
      for (size_t i = 0; i < weights.size(); i++) {
        const Statistics of = settle<scalar_t>(moments, scales[i], means[i], variances[i], epsilon, momentum);
        const Line<scalar_t> line(scales[i], shifts[i], of, repeats(kept.back()));
        const bool last = i + 1 == weights.size();
        const Map map(weights[i], strides[i]);
        const auto [y, active] = layer(kept.back(), line, map, last ? shortcut : std::nullopt, last ? nullptr : &moments);
        kept.insert(kept.end(), {weights[i], scales[i], shifts[i], of.mean, of.inverse, active, y});
      }
    });
    const at::Tensor y = kept.back();
    kept.pop_back();
    ctx->save_for_backward(kept);
    ctx->saved_data["strides"] = strides;
    ctx->saved_data["shortcut"] = shortcut.has_value();
    ctx->saved_data["identity"] = shortcut && shortcut->is_same(x);
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto kept = ctx->get_saved_variables();
    const auto strides = ctx->saved_data["strides"].toIntVector();
    const bool identity = ctx->saved_data["identity"].toBool();
    const size_t layers = strides.size();
    variable_list out(2 + 5 * layers + 3);  // as `forward` takes them
    const at::Tensor grad = by_rows(grads[0]);
    if (ctx->saved_data["shortcut"].toBool() && !identity) out[1] = grad;
    AT_DISPATCH_FLOATING_TYPES(grad.scalar_type(), "norm_relu_conv_backward", [&] {
      std::optional<Way<scalar_t>> later;
      for (size_t i = layers; i-- > 0;) {
        const at::Tensor &x = kept[KEPT * i], &weight = kept[KEPT * i + 1], &scale = kept[KEPT * i + 2];
        const Line<scalar_t> line(scale, kept[KEPT * i + 3], {kept[KEPT * i + 4], kept[KEPT * i + 5]}, repeats(x));
        const Map map(weight, strides[i]);
        const at::Tensor to_weight = at::zeros_like(map.weight);
        const at::Tensor to_scale = at::empty_like(scale), to_shift = at::empty_like(scale);
        Sums sums(line.lanes());
        const auto to_output = [&](const Few& few) { return later ? later->to_input(few) : few.of(grad); };
        const at::Tensor before = layer_back(x, kept[KEPT * i + 6], line, map, to_output, to_weight, sums);
        later.emplace(x, before, line, Slope<scalar_t>(sums, line, x.numel(), to_scale, to_shift));
        out[2 + i] = to_weight.unsqueeze(0);
        out[2 + layers + i] = to_scale;
        out[2 + 2 * layers + i] = to_shift;
      }
      by_few(kept[0].size(0), fitting(kept[0]), [&](const Few& few) {
        const at::Tensor to_x = later->to_input(few);
        if (identity) to_x.add_(few.of(grad));
      });
      out[0] = later->before;
    });
    return out;
  }

  // Conv(ReLU(BN(x))) and the shortcut; ReLU(BN(x)) if there is all of it; and the moments of the sum, if they are wanted.
  template <typename T>
  static std::tuple<at::Tensor, at::Tensor> layer(const at::Tensor& x, const Line<T>& line, const Map& map,
                                                  const std::optional<at::Tensor>& shortcut, Moments* moments) {
    at::Tensor y, active;
    by_few(x.size(0), map.few(x), [&](const Few& few) {
      const at::Tensor xs = few.of(x);
      active = at::empty_like(xs);
      activate(xs.const_data_ptr<T>(), active.mutable_data_ptr<T>(), line, xs.numel());
      const at::Tensor ys = map.forward(active);
      if (shortcut) ys.add_(few.of(*shortcut));
      if (moments && few.first == 0) *moments = Moments(ys.size(1) * repeats(ys));
      if (moments) add_moments(*moments, ys.const_data_ptr<T>(), ys.numel());
      if (few.count == x.size(0)) y = ys;
      else put(ys, few, x.size(0), y);
    });
    return {y, y.size(0) == active.size(0) ? active : at::Tensor()};
  }

  // Puts a few images to their place among all.
  static void put(const at::Tensor& few_y, const Few& few, int64_t count, at::Tensor& y) {
    const std::array<int64_t, 4> shape{count, few_y.size(1), few_y.size(2), few_y.size(3)};
    if (!y.defined()) y = at::empty(shape, few_y.options(), at::MemoryFormat::ChannelsLast);
    std::memcpy(few.of(y).mutable_data_ptr(), few_y.const_data_ptr(), few_y.nbytes());
  }

  // The gradient before ReLU from that to the layer's output; adds to that of the weight, and to the sums that BN wants.
  template <typename T, typename Grad>
  static at::Tensor layer_back(const at::Tensor& x, const at::Tensor& all_active, const Line<T>& line, const Map& map,
                               const Grad& to_output, const at::Tensor& to_weight, Sums& sums) {
    const at::Tensor before = at::empty_like(x);
    by_few(x.size(0), map.few(x), [&](const Few& few) {
      const at::Tensor xs = few.of(x), gs = few.of(before);
      const auto* from = xs.const_data_ptr<T>();
      const at::Tensor active = all_active.defined() ? all_active : at::empty_like(xs);
      if (!all_active.defined()) activate(from, active.mutable_data_ptr<T>(), line, xs.numel());
      const at::Tensor to_active = map.backward(to_output(few), active, to_weight);
      add_sums<true>(sums, from, to_active.const_data_ptr<T>(), gs.mutable_data_ptr<T>(), line, xs.numel());
    });
    return before;
  }

  static constexpr size_t KEPT = 7;
};

at::Tensor norm_relu_conv(const at::Tensor& x, const std::optional<at::Tensor>& shortcut, at::TensorList weights,
                          at::TensorList scales, at::TensorList shifts, at::TensorList means, at::TensorList variances,
                          at::IntArrayRef strides, double epsilon, double momentum) {
  return NormReluConv::apply(x, shortcut, weights, scales, shifts, means, variances, strides, epsilon, momentum);
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
  library.def("norm_relu_conv", &norm_relu_conv);
  library.def("nadam", &nadam);
}
