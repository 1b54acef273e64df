-- name: AddApproval :exec
INSERT INTO approvals (id, run, owner, ask, created, expires, closed, state) VALUES ($1, $2, $3, $4, $5, $6, $7, $8);

-- name: Approval :one
SELECT * FROM approvals WHERE id = sqlc.arg(id) AND (owner = sqlc.arg(owner) OR CAST(sqlc.arg(everyone) AS boolean));

-- name: Approvals :many
SELECT * FROM approvals WHERE (owner = sqlc.arg(owner) OR CAST(sqlc.arg(everyone) AS boolean)) AND (state = sqlc.arg(state) OR CAST(sqlc.arg(any_state) AS boolean))
AND created <= sqlc.arg(created) AND (created < sqlc.arg(created) OR id < sqlc.arg(id)) ORDER BY created DESC, id DESC LIMIT sqlc.arg(most);

-- name: HoldApproval :execrows
UPDATE approvals SET closed = 0 WHERE id = sqlc.arg(id) AND closed = 0 AND expires > sqlc.arg(now);

-- name: AddVote :exec
INSERT INTO votes (approval, key, approve, envelope, created) VALUES ($1, $2, $3, $4, $5);

-- name: Votes :many
SELECT * FROM votes WHERE approval = sqlc.arg(approval) ORDER BY created, key;

-- name: CloseApproval :execrows
UPDATE approvals SET state = sqlc.arg(state), closed = sqlc.arg(now) WHERE id = sqlc.arg(id) AND closed = 0;
