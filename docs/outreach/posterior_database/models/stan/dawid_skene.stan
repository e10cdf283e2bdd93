// Dawid and Skene (1979), section 2: a confusion matrix for each rater, the true categories summed out.
data {
  int<lower=2> K;                        // categories
  int<lower=1> I;                        // items
  int<lower=1> J;                        // raters
  int<lower=1> N;                        // answers
  array[N] int<lower=1, upper=I> ii;     // item of each answer
  array[N] int<lower=1, upper=J> jj;     // rater of each answer
  array[N] int<lower=1, upper=K> y;      // answer
  vector<lower=0>[K] alpha;              // prior of the prevalence
  array[K] vector<lower=0>[K] beta;      // prior of the rows of the confusion matrices
}
parameters {
  simplex[K] pi;                         // prevalence
  array[J, K] simplex[K] theta;          // P(rater j answers l | true category k)
}
model {
  array[I] vector[K] log_q = rep_array(log(pi), I);
  pi ~ dirichlet(alpha);
  for (j in 1:J) {
    for (k in 1:K) {
      theta[j, k] ~ dirichlet(beta[k]);
    }
  }
  for (n in 1:N) {
    for (k in 1:K) {
      log_q[ii[n], k] += log(theta[jj[n], k, y[n]]);
    }
  }
  for (i in 1:I) {
    target += log_sum_exp(log_q[i]);
  }
}
