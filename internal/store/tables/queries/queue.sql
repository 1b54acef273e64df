-- name: TakeTurn :exec
UPDATE turns SET taken = taken + 1 WHERE name = sqlc.arg(name);

-- name: Enlist :one
UPDATE workers SET epoch = epoch + 1, beat = beat + 1, labels = sqlc.arg(labels), capacity = sqlc.arg(capacity), version = sqlc.arg(version),
	last_seen = sqlc.arg(now), lease_until = lease_until + sqlc.arg(now) - last_seen, lost_after = lost_after + sqlc.arg(now) - last_seen
WHERE id = sqlc.arg(id) AND removed = 0 RETURNING *;

-- name: WorkerInEpoch :one
SELECT * FROM workers WHERE id = sqlc.arg(id) AND epoch = sqlc.arg(epoch) AND removed = 0;

-- name: BeatWorker :one
UPDATE workers SET beat = beat + 1, last_seen = sqlc.arg(now), lease_until = sqlc.arg(lease_until), lost_after = sqlc.arg(lost_after)
WHERE id = sqlc.arg(id) AND epoch = sqlc.arg(epoch) AND removed = 0 RETURNING *;

-- name: HoldWorker :execrows
UPDATE workers SET mode = mode WHERE id = sqlc.arg(id) AND epoch = sqlc.arg(epoch) AND beat = sqlc.arg(beat);

-- name: CountLive :one
SELECT count(*) FROM runs WHERE worker = sqlc.arg(worker) AND fence > 0 AND settled = 0;

-- name: QueuedOwners :many
WITH RECURSIVE o (owner) AS (
	SELECT coalesce((SELECT r.owner FROM runs r WHERE r.state = 'queued' ORDER BY r.owner LIMIT 1), '')
	UNION ALL
	SELECT coalesce((SELECT r.owner FROM runs r WHERE r.state = 'queued' AND r.owner > o.owner ORDER BY r.owner LIMIT 1), '') FROM o WHERE o.owner <> ''
)
SELECT CAST(o.owner AS text) AS owner,
	CAST((SELECT count(*) FROM runs r WHERE r.owner = o.owner AND r.fence > 0 AND r.settled = 0) AS bigint) AS live,
	CAST((SELECT coalesce(max(r.claimed), 0) FROM runs r WHERE r.owner = o.owner AND r.claimed > 0) AS bigint) AS last_claimed
FROM o WHERE o.owner <> '';

-- name: BusyWorkspaces :many
SELECT workspace, count(*) AS live FROM runs WHERE fence > 0 AND settled = 0 GROUP BY workspace;

-- name: QueuedRuns :many
SELECT id, owner, workspace, priority, needs, created FROM runs
WHERE owner = sqlc.arg(owner) AND state = 'queued' AND priority <= sqlc.arg(priority)
AND (priority < sqlc.arg(priority) OR created > sqlc.arg(created) OR (created = sqlc.arg(created) AND id > sqlc.arg(id)))
ORDER BY priority DESC, created, id LIMIT sqlc.arg(most);

-- name: ClaimRun :one
UPDATE runs SET state = 'starting', worker = sqlc.arg(worker), fence = fence + 1, claimed = sqlc.arg(now), revision = revision + 1
WHERE id = sqlc.arg(id) AND state = 'queued' RETURNING *;

-- name: ReachRuns :exec
UPDATE runs SET state = CASE WHEN started > 0 THEN 'running' ELSE 'starting' END, revision = revision + 1
WHERE worker = sqlc.arg(worker) AND fence > 0 AND settled = 0 AND state = 'unreachable';

-- name: HeldRuns :many
SELECT * FROM runs WHERE worker = sqlc.arg(worker) AND fence > 0 AND settled = 0 ORDER BY id;

-- name: HeldRun :one
SELECT * FROM runs WHERE runs.id = sqlc.arg(id) AND runs.worker = sqlc.arg(worker) AND runs.fence = sqlc.arg(fence)
AND EXISTS (SELECT 1 FROM workers w WHERE w.id = runs.worker AND w.epoch = sqlc.arg(epoch) AND w.removed = 0);

-- name: StartRun :execrows
UPDATE runs SET state = 'running', started = sqlc.arg(now), revision = revision + 1
WHERE runs.id = sqlc.arg(id) AND runs.worker = sqlc.arg(worker) AND runs.fence = sqlc.arg(fence) AND claimed > 0 AND started = 0 AND settled = 0
AND EXISTS (SELECT 1 FROM workers w WHERE w.id = runs.worker AND w.epoch = sqlc.arg(epoch) AND w.removed = 0);

-- name: AdvanceRun :execrows
UPDATE runs SET stdout_bytes = sqlc.arg(stdout_bytes), stderr_bytes = sqlc.arg(stderr_bytes), stdout_digest = sqlc.arg(stdout_digest), stderr_digest = sqlc.arg(stderr_digest), events = sqlc.arg(events), revision = revision + 1
WHERE runs.id = sqlc.arg(id) AND runs.worker = sqlc.arg(worker) AND runs.fence = sqlc.arg(fence) AND fence > 0 AND settled = 0
AND stdout_bytes <= sqlc.arg(stdout_bytes) AND stderr_bytes <= sqlc.arg(stderr_bytes) AND events <= sqlc.arg(events)
AND EXISTS (SELECT 1 FROM workers w WHERE w.id = runs.worker AND w.epoch = sqlc.arg(epoch) AND w.removed = 0);

-- name: SettleRun :execrows
UPDATE runs SET state = sqlc.arg(state), outcome = sqlc.arg(outcome), settled = sqlc.arg(now),
	stdout_bytes = sqlc.arg(stdout_bytes), stderr_bytes = sqlc.arg(stderr_bytes), stdout_digest = sqlc.arg(stdout_digest), stderr_digest = sqlc.arg(stderr_digest), events = sqlc.arg(events), revision = revision + 1
WHERE runs.id = sqlc.arg(id) AND runs.worker = sqlc.arg(worker) AND runs.fence = sqlc.arg(fence) AND fence > 0 AND settled = 0
AND EXISTS (SELECT 1 FROM workers w WHERE w.id = runs.worker AND w.epoch = sqlc.arg(epoch) AND w.removed = 0);

-- name: Beats :many
SELECT w.id, w.epoch, w.beat, CAST(w.lease_until - w.last_seen AS bigint) AS lease, CAST(w.lost_after - w.last_seen AS bigint) AS lost, count(*) AS live, CAST(sum(CASE WHEN r.state = 'unreachable' THEN 1 ELSE 0 END) AS bigint) AS unreachable
FROM runs r JOIN workers w ON w.id = r.worker WHERE r.fence > 0 AND r.settled = 0 GROUP BY w.id, w.epoch, w.beat, w.lease_until, w.lost_after, w.last_seen ORDER BY w.id;

-- name: MissRuns :execrows
UPDATE runs SET state = 'unreachable', revision = revision + 1 WHERE worker = sqlc.arg(worker) AND fence > 0 AND settled = 0 AND state IN ('starting', 'running');

-- name: LoseRuns :many
UPDATE runs SET state = sqlc.arg(state), outcome = sqlc.arg(outcome), settled = sqlc.arg(now), fence = fence + 1, revision = revision + 1
WHERE worker = sqlc.arg(worker) AND fence > 0 AND settled = 0 RETURNING id;

-- name: AddWorker :exec
INSERT INTO workers (id, name, credential, labels, capacity, mode, epoch, beat, last_seen, lease_until, lost_after, version, created, removed)
VALUES ($1, $2, $3, $4, $5, $6, 0, 0, 0, 0, 0, '', $7, 0);

-- name: Worker :one
SELECT * FROM workers WHERE id = sqlc.arg(id);

-- name: WorkerByCredential :one
SELECT * FROM workers WHERE credential = sqlc.arg(credential) AND removed = 0;

-- name: Workers :many
SELECT * FROM workers WHERE removed = 0 AND created <= sqlc.arg(created) AND (created < sqlc.arg(created) OR id < sqlc.arg(id)) ORDER BY created DESC, id DESC LIMIT sqlc.arg(most);

-- name: SetWorkerMode :execrows
UPDATE workers SET mode = sqlc.arg(mode) WHERE id = sqlc.arg(id) AND removed = 0;

-- name: TakeOverRuns :execrows
UPDATE runs SET worker = sqlc.arg(worker), revision = revision + 1 WHERE worker <> sqlc.arg(worker) AND fence > 0 AND settled = 0;

-- name: RemoveWorker :execrows
UPDATE workers SET removed = sqlc.arg(now) WHERE workers.id = sqlc.arg(id) AND removed = 0
AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.worker = workers.id AND r.fence > 0 AND r.settled = 0);
