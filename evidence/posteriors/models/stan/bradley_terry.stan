// Bradley and Terry (1952) with a reliability for each rater.
// Qualities and log reliabilities are normal and sum to zero: `*_free` are their coordinates in an orthonormal basis.
functions {
  matrix zero_sum_basis(int n) {  // columns: orthonormal, each of sum zero (Helmert)
    matrix[n, n - 1] basis = rep_matrix(0, n, n - 1);
    for (k in 1:(n - 1)) {
      basis[1:k, k] = rep_vector(1 / sqrt(k * (k + 1.0)), k);
      basis[k + 1, k] = -k / sqrt(k * (k + 1.0));
    }
    return basis;
  }
}
data {
  int<lower=2> I;  // items
  int<lower=2> R;  // raters
  int<lower=1> N;  // votes
  array[N] int<lower=1, upper=I> left;
  array[N] int<lower=1, upper=I> right;
  array[N] int<lower=1, upper=R> rater;
  array[N] int<lower=1, upper=2> outcome;  // 1 left, 2 right
}
transformed data {
  matrix[I, I - 1] of_items = zero_sum_basis(I);
  matrix[R, R - 1] of_raters = zero_sum_basis(R);
}
parameters {
  real<lower=0> quality_scale;
  vector[I - 1] quality_free;
  real<lower=0> reliability_scale;
  vector[R - 1] log_reliability_free;
}
transformed parameters {
  vector[I] quality = of_items * quality_free;
  vector[R] log_reliability = of_raters * log_reliability_free;
}
model {
  quality_scale ~ lognormal(log(2), 1);
  quality_free ~ normal(0, quality_scale);
  reliability_scale ~ lognormal(log(0.7), 0.5);
  log_reliability_free ~ normal(0, reliability_scale);
  for (n in 1:N) {
    real x = exp(log_reliability[rater[n]]) * (quality[left[n]] - quality[right[n]]);
    target += log_inv_logit(outcome[n] == 1 ? x : -x);
  }
}
