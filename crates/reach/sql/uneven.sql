-- Operators whose time a step differs most between ranks: the rank that is most above the mean in the same steps,
-- with that mean. Steps that are left out for a rank don't count: where table accounts has a rank's own steps
-- (own_step), those that it lacks; where it has none of a rank, all of that rank's steps count.
WITH counted AS (SELECT rank, step, own_step FROM accounts WHERE own_step IS NOT NULL),
accounted AS (SELECT DISTINCT rank FROM counted),
of_own_steps AS (
    SELECT o.rank, o.step, o.name, o.type, o.unit, CAST(sum(o.duration_ns) AS BIGINT) AS total_ns
    FROM operators o
    GROUP BY o.rank, o.step, o.name, o.type, o.unit
), of_steps AS (
    SELECT o.rank, coalesce(c.step, o.step) AS step, o.name, o.type, o.unit,
           CAST(sum(o.total_ns) AS BIGINT) AS total_ns
    FROM of_own_steps o
    LEFT JOIN counted c ON c.rank = o.rank AND c.own_step = o.step
    LEFT JOIN accounted a ON a.rank = o.rank
    WHERE c.step IS NOT NULL OR a.rank IS NULL
    GROUP BY o.rank, coalesce(c.step, o.step), o.name, o.type, o.unit
), beside AS (
    SELECT s.rank, s.name, s.type, s.unit, s.total_ns,
           CAST(floor(avg(s.total_ns) OVER (PARTITION BY s.step, s.name, s.type, s.unit)) AS BIGINT) AS mean_ns,
           dense_rank() OVER (PARTITION BY s.rank ORDER BY s.step) AS nth_step
    FROM of_steps s
), sums AS (
    SELECT b.rank, b.name, b.type, b.unit, sum(b.total_ns) AS total_ns, sum(b.mean_ns) AS mean_ns,
           max(b.nth_step) AS nth_step
    FROM beside b
    GROUP BY b.rank, b.name, b.type, b.unit
), counts AS (
    SELECT s.rank, s.name, s.type, s.unit, s.total_ns, s.mean_ns,
           max(s.nth_step) OVER (PARTITION BY s.rank) AS steps
    FROM sums s
), of_ranks AS (
    SELECT c.rank, c.name, c.type, c.unit,
           CAST(floor(CAST(c.total_ns AS DOUBLE) / c.steps) AS BIGINT) AS total_ns,
           CAST(floor(CAST(c.mean_ns AS DOUBLE) / c.steps) AS BIGINT) AS mean_ns
    FROM counts c
), ordered AS (
    SELECT t.rank, t.name, t.type, t.unit, t.total_ns, t.mean_ns,
           row_number() OVER (PARTITION BY t.name, t.type, t.unit ORDER BY t.total_ns - t.mean_ns DESC, t.rank) AS place,
           count(*) OVER (PARTITION BY t.name, t.type, t.unit) AS ranks
    FROM of_ranks t
)
SELECT w.name, w.type, w.unit, w.ranks, w.rank AS most_rank, w.total_ns AS most_ns, w.mean_ns,
       w.total_ns - w.mean_ns AS excess_ns
FROM ordered w
WHERE w.place = 1
ORDER BY excess_ns DESC, w.name, w.type, w.unit
