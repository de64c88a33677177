-- What the outputs beside the interface call: maps, GIS programs, publishers (O0.1). Under the role gis_public, with the rights of
-- the caller: what that role may not read can't leave by them, however they are written. They read views of schema gis only. One
-- has the rights of the owner, ausgabe.get_tile.

-- Whether the role that asks may become gis_public, under which outputs read (O0.1). False where there is no such role.
create or replace function api.is_ausgabe_erlaubt()
  returns boolean
  language sql
  stable
as $$
  -- From PostgreSQL 16 on, a member need not be allowed to become the role.
  select coalesce(pg_catalog.pg_has_role(
    current_user, pg_catalog.to_regrole('gis_public'),
    case when pg_catalog.current_setting('server_version_num')::integer >= 160000 then 'SET' else 'MEMBER' end), false)
$$;
comment on function api.is_ausgabe_erlaubt() is 'Whether the role of the service may become gis_public, under which outputs read';

