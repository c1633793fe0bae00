// What training on a CPU spends its time on, each as one pass over memory. native.py compiles and loads this file.
#include <ATen/Dispatch.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/empty_strided.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <cmath>
#include <cstdint>
#include <limits>

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
  library.def("nadam", &nadam);
}
