-- What one session could stop the server with, or see what it must not, and who analysts are: they read views of schema gis with logins
-- of their own, and can do nothing else here.

-- Whether everybody may execute a function with these rights and this owner, as pg_proc has them.
create or replace function private.is_executable_by_all(rights aclitem[], owner oid)
  returns boolean
  language sql
  immutable
as $$
  select exists (
    select from pg_catalog.aclexplode(coalesce(rights, acldefault('f', owner))) a where a.grantee = 0 and a.privilege_type = 'EXECUTE')
$$;

-- What PostgreSQL gives to everybody and one session could stop the server with: functions that fill the table of locks which all sessions
-- share, that lock a table before they ask for rights on it, that write a file each, or that compute for as long as one likes and can't be
-- ended (XPath; marks beyond number put in order). And the counters of rows, blocks and scans: what one's own request reads of an index
-- tells on which side of a border a true place is. grants.sql takes them away.
--   public_only  only those that everybody still may execute
create or replace function api.list_sperrende_funktion(public_only boolean)
  returns setof regprocedure
  language sql
  stable
as $$
  select p.oid::regprocedure
  from pg_catalog.pg_proc p
  where p.pronamespace = 'pg_catalog'::regnamespace
    and (p.proname ~ '^pg_(try_)?advisory_(xact_)?lock(_shared)?$'
      or p.proname ~ '^(table|schema|database)_to_xml'
      or p.proname in (
        'lo_creat', 'lo_create', 'lo_from_bytea', 'lo_open', 'lo_unlink', 'pg_logical_emit_message', 'pg_export_snapshot',
        'brin_summarize_new_values', 'brin_summarize_range', 'brin_desummarize_range', 'gin_clean_pending_list',
        'nextval', 'currval', 'setval', 'pg_sequence_last_value', 'pg_get_sequence_data', 'pg_get_object_address',
        'pg_restore_relation_stats', 'pg_clear_relation_stats', 'pg_restore_attribute_stats', 'pg_clear_attribute_stats',
        'xpath', 'xpath_exists', 'xmlexists', 'normalize', 'is_normalized', 'pg_stat_get_backend_io', 'pg_stat_get_backend_wal')
      or p.proname ~ ('^pg_stat_get_(?!activity|backend_|progress_info|wal_(senders|receiver)|replication_slot|subscription|archiver'
        '|snapshot_timestamp)'))
    and (not list_sperrende_funktion.public_only or private.is_executable_by_all(p.proacl, p.proowner))
  order by 1
$$;
comment on function api.list_sperrende_funktion(boolean) is
  'Functions of PostgreSQL with which a session without any rights could stop the server, or see what it must not';

-- What PostGIS gives to everybody and must not: the extent of any spatial index and the histogram of any spatial column, of tables too that
-- the caller may not read, enough to find the outermost nest to the centimetre. The number of the transaction and "long transactions": each
-- savepoint gets one, and with it a lock. What reads formats that nobody needs here: some end the server's process (nested TWKB, definitions
-- of coordinate systems, long patterns), some show its memory (FlatGeobuf, encoded lines, whatever takes whole rows or arrays of geometries),
-- some write to its log past all settings (GML, KML, MARC21), some compute for ever (degrees of 1e308). grants.sql takes them away, where its
-- role may; those that pack tiles the owner of ausgabe/tile.sql keeps.
--   public_only  only those that everybody still may execute
create or replace function api.list_postgis_funktion(public_only boolean)
  returns setof regprocedure
  language sql
  stable
as $$
  select p.oid::regprocedure
  from pg_catalog.pg_proc p
  where p.pronamespace = 'public'::regnamespace
    and (p.proname in (
      '_postgis_index_extent', '_postgis_join_selectivity', '_postgis_selectivity', '_postgis_stats', 'st_estimatedextent',
      'st_geomfromtwkb', '_st_geomfromgml', 'st_geomfromgml', 'st_gmltosql', 'st_geomfromkml', 'st_geomfrommarc21',
      'st_fromflatgeobuf', 'st_fromflatgeobuftotable', 'st_asflatgeobuf', 'st_asgeobuf', 'st_asmvt', 'st_linefromencodedpolyline',
      'st_aslatlontext', 'st_relatematch', 'st_transform', 'postgis_transform_geometry',
      'st_transformpipeline', 'st_inversetransformpipeline', 'postgis_transform_pipeline_geometry', 'gettransactionid', 'addauth', 'checkauth',
      'checkauthtrigger', 'lockrow', 'unlockrows', 'enablelongtransactions', 'disablelongtransactions', 'longtransactionsenabled')
      -- Whatever takes whole rows (ST_AsGeoJSON of one) or arrays (ST_MakePolygon, which counts nulls in them and reads on behind). The
      -- aggregates of rows are named above, those of geometries are others.
      or (p.probin ~ 'postgis' and p.proargtypes::oid[] && '{record,anyelement,"public.geometry[]","public.geography[]"}'::regtype[]::oid[]
        and 'internal'::regtype <> all (p.proargtypes)))
    -- From one EPSG code to another everybody may.
    and p.oid is distinct from to_regprocedure('public.st_transform(public.geometry, integer)')
    and (not list_postgis_funktion.public_only or private.is_executable_by_all(p.proacl, p.proowner))
  order by 1
$$;
comment on function api.list_postgis_funktion(boolean) is
  'Functions of PostGIS with which any session could find protected places or end the server';

-- Whether a role has the rights of another one, or can take them by `set role`. Since PostgreSQL 16 whoever made a role is a member on paper.
create or replace function private.is_in_role(member oid, role oid)
  returns boolean
  language sql
  stable
  set search_path = ''
as $$
  select case
    when pg_catalog.current_setting('server_version_num')::integer < 160000
      then pg_catalog.pg_has_role(is_in_role.member, is_in_role.role, 'MEMBER')
    else pg_catalog.pg_has_role(is_in_role.member, is_in_role.role, 'USAGE')
      or pg_catalog.pg_has_role(is_in_role.member, is_in_role.role, 'SET')
  end
$$;

-- Whether a login is an analyst's and nothing else: a member of their groups without the rights of whoever owns the service's tables.
-- Without those tables nobody is one: they may be on their way out.
create or replace function private.is_analyst(login name)
  returns boolean
  language sql
  stable
  set search_path = ''
as $$
  select
    exists (
      select
      from pg_catalog.pg_roles r, pg_catalog.pg_roles l
      where r.rolname in ('gis_public', 'gis_exact') and l.rolname = is_analyst.login and private.is_in_role(l.oid, r.oid))
    -- Of all roles a superuser is a member. So is who must become the owner first, by `set role`.
    and not coalesce(
      (
        select private.is_in_role(l.oid, c.relowner)
        from pg_catalog.pg_class c, pg_catalog.pg_roles l
        where c.oid = to_regclass('portal.installation') and l.rolname = is_analyst.login),
      true)
$$;

-- Analysts and their groups. The service's own role reads the same views, and is none.
create or replace function private.list_analyst()
  returns table (id oid, name name, can_login boolean)
  language sql
  stable
as $$
  select r.oid, r.rolname, r.rolcanlogin
  from pg_catalog.pg_roles r
  where r.rolname not in ('gis_public', 'gis_exact')
    and private.is_analyst(r.rolname)
    and not coalesce(pg_catalog.pg_has_role(r.oid, to_regrole('portal_dienst'), 'member'), false)
$$;

-- Who keeps what is taken from everybody (list_sperrende_funktion, temporary tables), for pg-boss and the import need some: the owner of
-- schema portal, and whom an administrator named in the rights on it; but no analyst, and none of an analyst's groups. The group of the
-- service's role gets two by itself.
create or replace function api.list_sperrende_rolle()
  returns setof regrole
  language sql
  stable
as $$
  select distinct a.grantee::regrole
  from pg_catalog.pg_namespace n, pg_catalog.aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a
  where n.nspname = 'portal'
    and a.grantee <> 0
    and a.grantee <> coalesce(to_regrole('portal_dienst')::oid, 0)
    and not exists (select from private.list_analyst() l where private.is_in_role(l.id, a.grantee))
$$;
comment on function api.list_sperrende_rolle() is
  'Roles that keep the functions and the temporary tables with which one session could stop the server';

-- Whether the owner of this database may see what sessions of others do, where any of those are analysts'.
create or replace function api.is_auswertung_sichtbar()
  returns boolean
  language sql
  stable
as $$
  select pg_catalog.pg_has_role(p.proowner, 'pg_read_all_stats', 'usage')
    or not exists (select from private.list_analyst() a where a.can_login)
  from pg_catalog.pg_proc p
  where p.oid = 'api.get_transaktionen()'::regprocedure
$$;
comment on function api.is_auswertung_sichtbar() is 'Whether the service sees transactions that logins of analysts leave open';

-- Analysts read: they define nothing in this database, whatever an administrator gave them. PostgreSQL refuses some
-- definitions only after it locked the table in question: with two sessions, analysts without any right kept every new connection waiting.
-- And with one table of their own they filled the table of locks. Only a superuser may have PostgreSQL ask this.
-- errors       42501 for analysts
create or replace function private.refuse_definition()
  returns event_trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  if private.is_analyst(session_user) then
    raise exception 'analysts define nothing in the portal''s database: %', lower(tg_tag) using errcode = '42501';
  end if;
end
$$;

-- Up to 0.15.0 they were allowed some, and this counted them. With it goes its event trigger, which belongs to a superuser.
drop function if exists private.refuse_amount() cascade;

-- What has analysts refused definitions in this database, as statements; none where they are. The event trigger may be missing, after a
-- restore, or be disabled.
create or replace function api.list_definition_anweisung()
  returns setof text
  language sql
  stable
as $$
  with present as (
    select t.evtenabled in ('O', 'A') and t.evtfoid = to_regprocedure('private.refuse_definition()') as works
    from pg_catalog.pg_event_trigger t
    where t.evtname = 'species_sighting_definition'
  )
  select 'drop event trigger species_sighting_definition' from present p where not p.works
  union all
  select 'create event trigger species_sighting_definition on ddl_command_start execute function private.refuse_definition()'
  where not exists (select from present p where p.works)
$$;
comment on function api.list_definition_anweisung() is
  'Statements for a superuser that have analysts refused definitions in this database; none where they are';
