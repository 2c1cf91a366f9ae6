-- Tokens and time of experts by rank. Steps that are left out for a rank don't count: where table accounts has a rank's
-- own steps (own_step), those that it lacks; where it has none of a rank, all of that rank's steps count.
WITH counted AS (SELECT rank, own_step FROM accounts WHERE own_step IS NOT NULL),
accounted AS (SELECT DISTINCT rank FROM counted)
SELECT e.rank, r.ep, count(DISTINCT e.step) AS steps, count(*) AS products, CAST(sum(e.tokens) AS BIGINT) AS tokens,
       CAST(sum(e.duration_ns) AS BIGINT) AS time_ns
FROM experts e
JOIN ranks r ON r.rank = e.rank
LEFT JOIN counted c ON c.rank = e.rank AND c.own_step = e.step
LEFT JOIN accounted a ON a.rank = e.rank
WHERE c.own_step IS NOT NULL OR a.rank IS NULL
GROUP BY e.rank, r.ep
ORDER BY e.rank
