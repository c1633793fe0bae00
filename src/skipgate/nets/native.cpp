// What training on a CPU spends its time on, each as one pass over memory. native.py compiles and loads this file.
#include <ATen/Dispatch.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <cmath>
#include <cstdint>
#include <limits>

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

namespace {

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
    y[j] = value < floor ? floor : value;  // what is no number stays so
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

// Dot-BN-ReLU of all replicas in training: y = ReLU(BN(W x)), with its gradient.
//
// Tensors are (replica, feature, batch) and contiguous, so a unit's batch is one row that stays in the cache from
// one loop to the next. The bias is never added: batch normalisation would take it away again. It moves the running mean.
struct DotNormRelu : torch::autograd::Function<DotNormRelu> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight, const at::Tensor& scale,
                            const at::Tensor& shift, const at::Tensor& bias, const at::Tensor& running_mean,
                            const at::Tensor& running_var, double epsilon, double momentum, bool relu) {
    const at::Tensor h = at::bmm(weight, x), y = at::empty_like(h), inverse = at::empty_like(scale);
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
    ctx->save_for_backward({x, weight, scale, h, y, inverse});
    ctx->saved_data["relu"] = relu;
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], &scale = saved[2], &normal = saved[3], &y = saved[4], &inverse = saved[5];
    const at::Tensor grad = grads[0].contiguous(), to_h = at::empty_like(y);
    const at::Tensor to_scale = at::empty_like(scale), to_shift = at::empty_like(scale);
    const int64_t rows = scale.numel(), count = y.size(2);
    const bool relu = ctx->saved_data["relu"].toBool();
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
    // A product of contiguous rows is worth the copy of x.
    const at::Tensor to_weight = at::bmm(to_h, x.transpose(1, 2).contiguous()), to_x = at::bmm(weight.transpose(1, 2), to_h);
    return {to_x, to_weight, to_scale, to_shift, {}, {}, {}, {}, {}, {}};
  }
};

at::Tensor dot_norm_relu(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& scale, const at::Tensor& shift,
                         const at::Tensor& bias, const at::Tensor& running_mean, const at::Tensor& running_var,
                         double epsilon, double momentum, bool relu) {
  return DotNormRelu::apply(x, weight, scale, shift, bias, running_mean, running_var, epsilon, momentum, relu);
}

// y = t f + s with one t a replica: a scalar gate on F and an open shortcut.
template <typename T>
void mix(T* y, const T* f, const T* s, int64_t count, T t) {
#pragma omp simd
  for (int64_t j = 0; j < count; j++) y[j] = t * f[j] + s[j];
}

template <typename T>
T mix_back(T* to_f, const T* grad, const T* f, int64_t count, T t) {
  T product = 0;
#pragma omp simd reduction(+ : product)
  for (int64_t j = 0; j < count; j++) {
    product += grad[j] * f[j];
    to_f[j] = t * grad[j];
  }
  return product;
}

struct GatedSum : torch::autograd::Function<GatedSum> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& f, const at::Tensor& s, const at::Tensor& t) {
    const at::Tensor y = at::empty_like(f);
    const int64_t replicas = t.numel(), count = f.numel() / replicas;
    AT_DISPATCH_FLOATING_TYPES(f.scalar_type(), "gated_sum", [&] {
      const auto *fs = f.const_data_ptr<scalar_t>(), *ss = s.const_data_ptr<scalar_t>(), *ts = t.const_data_ptr<scalar_t>();
      auto* ys = y.mutable_data_ptr<scalar_t>();
      for (int64_t r = 0; r < replicas; r++) mix<scalar_t>(ys + r * count, fs + r * count, ss + r * count, count, ts[r]);
    });
    ctx->save_for_backward({f, t});
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &f = saved[0], &t = saved[1];
    const at::Tensor grad = grads[0].contiguous(), to_f = at::empty_like(f), to_t = at::empty_like(t);
    const int64_t replicas = t.numel(), count = f.numel() / replicas;
    AT_DISPATCH_FLOATING_TYPES(f.scalar_type(), "gated_sum_backward", [&] {
      const auto *fs = f.const_data_ptr<scalar_t>(), *gs = grad.const_data_ptr<scalar_t>(), *ts = t.const_data_ptr<scalar_t>();
      auto *out = to_f.mutable_data_ptr<scalar_t>(), *sums = to_t.mutable_data_ptr<scalar_t>();
      for (int64_t r = 0; r < replicas; r++) {
        sums[r] = mix_back<scalar_t>(out + r * count, gs + r * count, fs + r * count, count, ts[r]);
      }
    });
    return {to_f, grad, to_t};
  }
};

at::Tensor gated_sum(const at::Tensor& f, const at::Tensor& s, const at::Tensor& t) { return GatedSum::apply(f, s, t); }

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
