// MACE: each rater knows the answer with some probability, and otherwise spams.
// The true category of each item is summed out. Spamming, too.
data {
  int<lower=1> I;  // items
  int<lower=1> R;  // raters
  int<lower=2> K;  // categories
  int<lower=1> N;  // answers
  array[N] int<lower=1, upper=I> item;
  array[N] int<lower=1, upper=R> rater;
  array[N] int<lower=1, upper=K> label;
}
parameters {
  simplex[K] prevalence;
  vector<lower=0, upper=1>[R] competence;
  array[R] simplex[K] spam;
}
model {
  array[I] vector[K] joint = rep_array(log(prevalence), I);  // log p(true category, answers)
  for (n in 1:N) {
    for (k in 1:K) {
      joint[item[n]][k] += log(competence[rater[n]] * (label[n] == k) + (1 - competence[rater[n]]) * spam[rater[n]][label[n]]);
    }
  }
  for (i in 1:I) {
    target += log_sum_exp(joint[i]);
  }
  prevalence ~ dirichlet(rep_vector(1, K));
  competence ~ beta(2, 1);
  for (r in 1:R) {
    spam[r] ~ dirichlet(rep_vector(1, K));
  }
}
