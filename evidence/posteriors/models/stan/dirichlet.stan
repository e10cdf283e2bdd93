// Labels as draws from the plausibilities of their item; raters are alike.
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
  array[I] simplex[K] plausibility;
}
model {
  for (i in 1:I) {
    plausibility[i] ~ dirichlet(rep_vector(1, K));
  }
  for (n in 1:N) {
    target += log(plausibility[item[n]][label[n]]);
  }
}
