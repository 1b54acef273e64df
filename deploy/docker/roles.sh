#!/bin/sh
# Makes the server's user and database, once: Paddock refuses a superuser.
set -eu
psql -v ON_ERROR_STOP=1 -v password="$(cat /run/secrets/postgres-password)" -U "$POSTGRES_USER" -d postgres <<'SQL'
CREATE ROLE paddock LOGIN PASSWORD :'password';
CREATE DATABASE paddock OWNER paddock;
SQL
