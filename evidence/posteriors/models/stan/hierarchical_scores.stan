// Locations of items, biases and variances of raters, each from a population.
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
  real location_mean;
  real<lower=0> location_spread;
  vector[I] location;
  real<lower=0> bias_spread;
  vector[R] rater_bias;
  real<lower=0> variance_shape;
  real<lower=0> usual_variance;
  vector<lower=0>[R] rater_variance;
}
model {
  location_mean ~ normal(mean_score, 4 * spread);
  location_spread ~ normal(0, 2 * spread);
  location ~ normal(location_mean, location_spread);
  bias_spread ~ normal(0, spread);
  rater_bias ~ normal(0, bias_spread);
  variance_shape ~ gamma(2, 0.25);
  usual_variance ~ inv_gamma(2, square(spread) / 2);
  rater_variance ~ inv_gamma(variance_shape, (variance_shape + 1) * usual_variance);
  score ~ normal(location[item] + rater_bias[rater], sqrt(rater_variance[rater]));
}
