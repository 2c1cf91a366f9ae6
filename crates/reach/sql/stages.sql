-- The same by the stage of the pipeline, with how uneven computing is.
SELECT r.pp AS stage, count(DISTINCT a.rank) AS ranks, avg(a.step_ns) AS step_ns, avg(a.compute_ns) AS compute_ns,
       avg(a.waiting_ns) AS waiting_ns, avg(a.bubble_ns) AS bubble_ns, avg(a.transfer_ns) AS transfer_ns,
       avg(a.idle_ns) AS idle_ns, max(a.compute_ns) / avg(a.compute_ns) - 1 AS imbalance
FROM accounts a JOIN ranks r ON r.rank = a.rank
GROUP BY r.pp
ORDER BY stage
