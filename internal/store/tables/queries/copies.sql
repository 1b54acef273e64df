-- name: PutCopy :exec
INSERT INTO copies (run, stamp, record) VALUES ($1, $2, $3) ON CONFLICT (run) DO UPDATE SET stamp = excluded.stamp, record = excluded.record;

-- name: Copies :many
WITH RECURSIVE w (n, id) AS (
	SELECT 1, substr(CAST(sqlc.arg(ids) AS text), 1, 27)
	UNION ALL
	SELECT w.n + 27, substr(CAST(sqlc.arg(ids) AS text), w.n + 27, 27) FROM w WHERE w.n + 27 <= length(CAST(sqlc.arg(ids) AS text))
)
SELECT copies.run, copies.stamp, copies.record FROM w JOIN copies ON copies.run = w.id;

-- name: DropCopy :exec
DELETE FROM copies WHERE run = sqlc.arg(run);

-- name: LatestOwners :many
WITH RECURSIVE o (owner) AS (
	SELECT coalesce((SELECT r.owner FROM runs r WHERE r.owner > '' ORDER BY r.owner LIMIT 1), '')
	UNION ALL
	SELECT coalesce((SELECT r.owner FROM runs r WHERE r.owner > o.owner ORDER BY r.owner LIMIT 1), '') FROM o WHERE o.owner <> ''
), latest (id) AS (
	SELECT (SELECT r.id FROM runs r WHERE r.owner = o.owner ORDER BY r.created DESC, r.id DESC LIMIT 1) FROM o WHERE o.owner <> ''
)
SELECT runs.* FROM latest JOIN runs ON runs.id = latest.id
WHERE runs.created <= sqlc.arg(created) AND (runs.created < sqlc.arg(created) OR runs.id < sqlc.arg(id)) ORDER BY runs.created DESC, runs.id DESC LIMIT sqlc.arg(most);
