// Scores of an item are normal draws; raters are alike.
data {
  int<lower=1> I;  // items
  int<lower=1> R;  // raters
  int<lower=1> N;  // scores
  array[N] int<lower=1, upper=I> item;
  array[N] int<lower=1, upper=R> rater;
  vector[N] score;
  real mean_score;  // centre of the prior
  real<lower=0> spread;  // its unit
}
parameters {
  vector[I] location;
  vector<lower=0>[I] variance;
}
model {
  variance ~ inv_gamma(2, square(spread));
  location ~ normal(mean_score, sqrt(variance / 0.25));
  score ~ normal(location[item], sqrt(variance[item]));
}
