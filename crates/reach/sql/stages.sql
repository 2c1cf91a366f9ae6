-- The same by the stage of the pipeline, with how uneven computing is: the rank that computes most beside a mean rank.
WITH of_ranks AS (
  SELECT r.pp AS stage, a.rank, count(*) AS steps, sum(a.step_ns) AS step_ns, sum(a.compute_ns) AS compute_ns,
         sum(a.waiting_ns) AS waiting_ns, sum(a.bubble_ns) AS bubble_ns, sum(a.transfer_ns) AS transfer_ns,
         sum(a.idle_ns) AS idle_ns, avg(a.compute_ns) AS mean_compute_ns
  FROM accounts a JOIN ranks r ON r.rank = a.rank
  GROUP BY r.pp, a.rank
)
SELECT stage, count(*) AS ranks, CAST(sum(step_ns) AS DOUBLE) / sum(steps) AS step_ns,
       CAST(sum(compute_ns) AS DOUBLE) / sum(steps) AS compute_ns,
       CAST(sum(waiting_ns) AS DOUBLE) / sum(steps) AS waiting_ns,
       CAST(sum(bubble_ns) AS DOUBLE) / sum(steps) AS bubble_ns,
       CAST(sum(transfer_ns) AS DOUBLE) / sum(steps) AS transfer_ns,
       CAST(sum(idle_ns) AS DOUBLE) / sum(steps) AS idle_ns,
       max(mean_compute_ns) / avg(mean_compute_ns) - 1 AS imbalance
FROM of_ranks
GROUP BY stage
ORDER BY stage
