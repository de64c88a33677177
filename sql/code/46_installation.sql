-- What a service that may not migrate has to know before it starts.

-- The release that this database was brought to; null before the first one was complete.
create or replace function api.get_release()
  returns integer[]
  language sql
  stable
as $$
  select i.code_release from portal.installation i
$$;
comment on function api.get_release() is 'Release of the functions of this database, as numbers';

-- Lets the role of the service use the queue, whose tables are pg-boss' own. Nothing happens without the one or the other.
create or replace function private.grant_warteschlange()
  returns void
  language plpgsql
  volatile
as $$
begin
  if to_regrole('portal_dienst') is null or to_regnamespace('pgboss') is null then
    return;
  end if;
  grant usage on schema pgboss to portal_dienst;
  grant select, insert, update, delete on all tables in schema pgboss to portal_dienst;
  grant usage, select on all sequences in schema pgboss to portal_dienst;
end
$$;

create or replace function api.grant_warteschlange()
  returns void
  language plpgsql
  volatile
as $$
begin
  perform private.grant_warteschlange();
end
$$;
comment on function api.grant_warteschlange() is 'Lets the role of the service use the tables of the queue';
