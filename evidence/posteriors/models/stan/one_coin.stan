// Each rater has one probability of the right label; the others are alike.
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
parameters {
  simplex[K] prevalence;
  vector<lower=0, upper=1>[R] ability;
}
model {
  array[I] vector[K] joint = rep_array(log(prevalence), I);  // log p(true category, answers)
  for (n in 1:N) {
    for (k in 1:K) {
      joint[item[n]][k] += label[n] == k ? log(ability[rater[n]]) : log1m(ability[rater[n]]) - log(K - 1);
    }
  }
  for (i in 1:I) {
    target += log_sum_exp(joint[i]);
  }
  prevalence ~ dirichlet(rep_vector(1, K));
  ability ~ beta(4, 2);
}
