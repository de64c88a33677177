-- What analysts have beyond reading: `npm run migrate` prints it, with the statements that take it away.

-- What analysts own in this database, or may make or write in it, or count of others: themselves, by a role that they are in, or as
-- everybody. It lets one session stop the server: what `explain analyze` makes, no event trigger sees.
-- returns  a role; how many things it owns, and some of them, as PostgreSQL calls them; statements that take its rights away
create or replace function api.list_recht_auswertung()
  returns table (rolle text, eigenes bigint, beispiele text[], anweisungen text[])
  language sql
  stable
  -- To compile it takes twenty times as long as to run it.
  set jit = off
as $$
  with object (class, id, sub, owner) as (
    select d.classid, d.objid, d.objsubid, d.refobjid
    from pg_catalog.pg_shdepend d
    where d.refclassid = 'pg_catalog.pg_authid'::regclass and d.deptype = 'o'
      and d.dbid = (select b.oid from pg_catalog.pg_database b where b.datname = pg_catalog.current_database())
  ),
  -- What the catalogue gives to everybody is PostgreSQL's own.
  schema (id) as (
    select n.oid from pg_catalog.pg_namespace n where n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
  ),
  acl (gegenstand, owner, rights, wanted) as (
    select pg_catalog.format('database %I', b.datname), b.datdba, b.datacl, '{CREATE,TEMPORARY}'::text[]
    from pg_catalog.pg_database b
    where b.datname = pg_catalog.current_database()
    union all
    select pg_catalog.format('schema %s', n.oid::regnamespace), n.nspowner, n.nspacl, '{CREATE}'
    from pg_catalog.pg_namespace n
    where n.oid in (select s.id from schema s)
    union all
    select c.oid::regclass::text, c.relowner, c.relacl, '{INSERT,UPDATE,DELETE,TRUNCATE,MAINTAIN}'
    from pg_catalog.pg_class c
    where c.relkind in ('r', 'v', 'm', 'f', 'p') and c.relnamespace in (select s.id from schema s)
  ),
  granted (role, anweisung) as (
    select r.grantee, pg_catalog.format('revoke %s on %s from ', lower(r.privilege_type), a.gegenstand)
    from acl a, pg_catalog.aclexplode(a.rights) r
    where r.privilege_type = any (a.wanted) and r.grantee <> a.owner
      -- Told elsewhere (src/db/grants.ts).
      and not (r.grantee = 0 and (r.privilege_type = 'TEMPORARY' or a.gegenstand = 'schema public'))
    union all
    select r.grantee, pg_catalog.format('revoke %s (%I) on %s from ', lower(r.privilege_type), t.attname, t.attrelid::regclass)
    from pg_catalog.pg_attribute t
    join pg_catalog.pg_class c on c.oid = t.attrelid and c.relnamespace in (select s.id from schema s)
    cross join pg_catalog.aclexplode(t.attacl) r
    where r.privilege_type in ('INSERT', 'UPDATE')
    union all
    -- Of everybody's, src/db/grants.ts tells.
    select r.grantee, pg_catalog.format('revoke execute on function %s from ', p.oid::regprocedure)
    from api.list_sperrende_funktion(public_only => false) f
    join pg_catalog.pg_proc p on p.oid = f
    cross join pg_catalog.aclexplode(p.proacl) r
    where r.grantee <> 0
  ),
  analyst as materialized (
    select l.id, l.name from private.list_analyst() l
  ),
  -- Of roles only those that own or may something: there may be very many.
  theirs as materialized (
    select r.role, coalesce(x.rolname::text, 'public') as name
    from (select o.owner as role from object o union select g.role from granted g) r
    left join pg_catalog.pg_roles x on x.oid = r.role
    -- PostgreSQL's own roles keep theirs: see below.
    where not coalesce(x.rolsuper or x.rolname ~ '^pg_', false) and exists (select from analyst l where r.role = 0 or private.is_in_role(l.id, r.role))
  )
  select t.name,
    (select count(*) from object o where o.owner = t.role),
    array(
      select pg_catalog.pg_describe_object(o.class, o.id, o.sub)
      from (select f.* from object f where f.owner = t.role order by f.class, f.id limit 3) o),
    array(
      select g.anweisung || case when t.role = 0 then 'public' else pg_catalog.quote_ident(t.name) end
      from granted g
      where g.role = t.role
      order by 1)
  from theirs t
  union all
  -- What PostgreSQL has roles for.
  select p.rolname, 0, '{}', array_agg(pg_catalog.format('revoke %I from %I', p.rolname, m.rolname) order by m.rolname)
  from pg_catalog.pg_roles p
  join pg_catalog.pg_auth_members d on d.roleid = p.oid
  join pg_catalog.pg_roles m on m.oid = d.member and not m.rolsuper and m.rolname !~ '^pg_'
  where p.rolname in (
      'pg_write_all_data', 'pg_read_all_data', 'pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program',
      'pg_signal_backend', 'pg_checkpoint', 'pg_maintain', 'pg_create_subscription', 'pg_monitor', 'pg_read_all_stats')
    and exists (select from analyst l where private.is_in_role(l.id, m.oid))
  group by p.rolname
  order by 1
$$;
comment on function api.list_recht_auswertung() is 'What logins of analysts own in this database, or may make or write in it';
