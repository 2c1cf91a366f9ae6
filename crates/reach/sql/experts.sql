-- Tokens and time of experts by rank.
SELECT e.rank, r.ep, count(DISTINCT e.step) AS steps, count(*) AS products, CAST(sum(e.tokens) AS BIGINT) AS tokens,
       CAST(sum(e.duration_ns) AS BIGINT) AS time_ns
FROM experts e JOIN ranks r ON r.rank = e.rank
GROUP BY e.rank, r.ep
ORDER BY e.rank
