-- Steps side by side: their length on the slowest rank and the median, and where they go.
SELECT a.step, count(*) AS ranks, max(a.step_ns) AS longest_ns,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY a.step_ns) AS median_ns,
       avg(a.compute_ns) AS compute_ns, avg(a.waiting_ns) AS waiting_ns, avg(a.bubble_ns) AS bubble_ns,
       avg(a.idle_ns) AS idle_ns
FROM accounts a
GROUP BY a.step
ORDER BY a.step
