// Bradley and Terry (1952) with ties as of Davidson (1970), equation 2.1; qualities sum to zero.
data {
  int<lower=2> I;                        // items
  int<lower=1> N;                        // pairs
  array[N] int<lower=1, upper=I> left;
  array[N] int<lower=1, upper=I> right;
  array[N, 3] int<lower=0> votes;        // for the left, for the right, ties
}
transformed data {
  matrix[I, I - 1] basis = rep_matrix(0, I, I - 1); // orthonormal, of the vectors that sum to zero
  for (i in 1:(I - 1)) {
    basis[1:i, i] = rep_vector(inv_sqrt(i * (i + 1.0)), i);
    basis[i + 1, i] = -i * inv_sqrt(i * (i + 1.0));
  }
}
parameters {
  vector[I - 1] z;
  real<lower=0> sigma;                   // scale of the qualities
  real<lower=0> nu;                      // how often votes are ties
}
transformed parameters {
  vector[I] quality = basis * z;
}
model {
  sigma ~ lognormal(log(2), 1);
  z ~ normal(0, sigma);
  nu ~ lognormal(0, 1);
  for (n in 1:N) {
    real half = (quality[left[n]] - quality[right[n]]) / 2;
    votes[n] ~ multinomial_logit([half, -half, log(nu)]');
  }
}
