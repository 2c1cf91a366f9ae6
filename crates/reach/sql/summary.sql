-- Where the steps of each rank go; the parts sum to the step.
SELECT a.rank, r.host, count(*) AS steps, avg(a.step_ns) AS step_ns, avg(a.compute_ns) AS compute_ns,
       avg(a.waiting_ns) AS waiting_ns, avg(a.bubble_ns) AS bubble_ns, avg(a.transfer_ns) AS transfer_ns,
       avg(a.idle_ns) AS idle_ns
FROM accounts a JOIN ranks r ON r.rank = a.rank
GROUP BY a.rank, r.host
ORDER BY a.rank
