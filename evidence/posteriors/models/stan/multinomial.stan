// One confusion matrix for all raters, whose prior favours the diagonal.
// The true category of each item is summed out.
data {
  int<lower=1> I;  // items
  int<lower=1> R;  // raters
  int<lower=2> K;  // categories
  int<lower=1> N;  // answers
  array[N] int<lower=1, upper=I> item;
  array[N] int<lower=1, upper=R> rater;
  array[N] int<lower=1, upper=K> label;
}
transformed data {
  matrix[K, K] concentration = rep_matrix(3.2 / (K - 1), K, K);  // rows sum to 8
  for (k in 1:K) {
    concentration[k, k] = 4.8;
  }
}
parameters {
  simplex[K] prevalence;
  array[K] simplex[K] confusion;
}
model {
  array[I] vector[K] joint = rep_array(log(prevalence), I);  // log p(true category, answers)
  for (n in 1:N) {
    for (k in 1:K) {
      joint[item[n]][k] += log(confusion[k][label[n]]);
    }
  }
  for (i in 1:I) {
    target += log_sum_exp(joint[i]);
  }
  prevalence ~ dirichlet(rep_vector(1, K));
  for (k in 1:K) {
    confusion[k] ~ dirichlet(concentration[k]');
  }
}
