-- Who may read what. Applied at every migrate, also when nothing else changed: the roles belong to the whole server and may
-- be created later than this database.

-- gis_public and gis_exact are groups; people get login roles in them (docs/operations/logins.md). portal_dienst is that of the service,
-- where it does not run as the owner. A migrating role that may not create roles leaves that to the server's administrator, and the
-- command says so.
do $$
declare
  v_role text;
begin
  foreach v_role in array array['gis_public', 'gis_exact', 'portal_dienst'] loop
    continue when to_regrole(v_role) is not null;
    begin
      execute format('create role %I nologin', v_role);
      continue when v_role = 'portal_dienst';
      -- For an installation that lets analysts log in as the group itself; members don't inherit settings.
      execute format('alter role %I set statement_timeout = ''60s''', v_role);
      execute format('alter role %I set default_transaction_read_only = on', v_role);
    exception
      when insufficient_privilege or duplicate_object or unique_violation then null;
    end;
  end loop;
end
$$;

-- Definitions are refused to analysts (gis/dangers.sql). A dump of the service's schemas has no event triggers: a restored database gets
-- them here.
do $$
declare
  v_statement text;
begin
  if (select r.rolsuper from pg_roles r where r.rolname = current_user) then
    for v_statement in select api.list_definition_anweisung() loop
      execute v_statement;
    end loop;
  end if;
end
$$;

-- Functions are everybody's to execute unless said otherwise. Theirs are closed here and not by `alter default privileges`,
-- which can take this right away only in all schemas at once, PostGIS's next version included.
do $$
declare
  v_routines text := (
    select string_agg(p.oid::regprocedure::text, ', ')
    from pg_proc p
    where p.pronamespace in ('private'::regnamespace, 'api'::regnamespace, 'ausgabe'::regnamespace)
      and private.is_executable_by_all(p.proacl, p.proowner));
begin
  if v_routines is not null then
    execute format('revoke execute on routine %s from public', v_routines);
  end if;
end
$$;

-- ST_AsMVT is left to the owner (gis/dangers.sql), and this gives it numbers alone.
alter function ausgabe.get_tile(integer, integer, integer, integer, integer, integer, integer, integer)
  security definer set search_path = public, pg_temp;

do $$
declare
  v_role text;
  v_view regclass;
begin
  foreach v_role in array array['gis_public', 'gis_exact'] loop
    continue when to_regrole(v_role) is null;
    -- What others made there is not this role's to close.
    for v_view in
      select c.oid
      from pg_class c
      where c.relnamespace = 'gis'::regnamespace and c.relkind in ('r', 'v', 'm', 'f', 'p', 'S') and pg_has_role(c.relowner, 'usage')
    loop
      -- With what they passed on.
      execute format('revoke all on %s from %I cascade', v_view, v_role);
    end loop;
    execute format('revoke all on schema gis from %I cascade', v_role);
    execute format('grant usage on schema gis to %I', v_role);
    execute format(
      'grant select on gis.sichtbeobachtung, gis.sichtbeobachtung_raster, gis.raster_5km, gis.raster_eea10, gis.raster_mtb, gis.raster_mtbq, '
      'gis.raster_feld, gis.raster_zahl, gis.raster_grob, gis.raster_feature, gis.raster_besetzt, gis.mandant, gis.mandant_zelle, gis.mandant_teil, gis.medium, gis.art, gis.stadium, gis.protokoll to %I', v_role);
    -- With the rights of whoever calls them: they give nobody more than the views do.
    execute format('grant usage on schema ausgabe to %I', v_role);
    execute format('grant execute on all functions in schema ausgabe to %I', v_role);
  end loop;
  if to_regrole('gis_exact') is not null then
    grant select on gis.sichtbeobachtung_exakt, gis.qs to gis_exact;
  end if;
end
$$;

-- What the service calls has the rights of the owner, so that the service needs none but to call it (P1.1). Those named here and no others:
-- what commands call runs as the owner anyway, makes accounts and administrators, and reads temporary tables, in which a caller could
-- leave what the owner would then run. Names without a schema are those of PostGIS; nobody else may create any in public.
do $$
declare
  v_service constant text[] := array[
    'count_login', 'count_versuch', 'create_grenzlauf', 'create_grenzlauf_gebiet', 'create_mandant_entwurf', 'create_sichtbeobachtung',
    'create_token', 'delete_medium_entfernt', 'delete_nutzer', 'delete_nutzer_saetze', 'delete_sichtbeobachtung', 'delete_token',
    'get_abgleich_kopf', 'get_abgleich_lag', 'get_art', 'get_grenzlauf_alter', 'get_grenzlauf_stand', 'get_installation', 'get_login',
    'get_mail_nutzer', 'get_medium', 'get_nutzer', 'get_nutzer_auskunft', 'get_nutzer_daten_link', 'get_nutzer_link', 'get_nutzer_medien', 'get_nutzer_of',
    'get_protokoll_stand', 'get_reader', 'get_release', 'get_sichtbeobachtung', 'get_stand_gezeigt', 'get_stand_gezeigt_in', 'get_stand_protokoll',
    'get_transaktionen', 'get_zugangsstand', 'is_medium_gesperrt', 'list_abgleich', 'is_mandant', 'list_aktivitaet', 'list_art', 'list_artengruppe', 'list_auskunft_protokoll', 'list_block_of_filter', 'list_block_of_sichtbeobachtung', 'list_block_of_tile',
    'list_auskunft_qs', 'list_auskunft_sichtbeobachtung', 'list_export', 'list_export_faellig', 'list_grenzlauf_mangel', 'list_hinweis', 'list_mandant', 'list_medium_entfernt',
    'list_medium_unbekannt', 'list_nachricht', 'list_nutzer', 'list_nutzer_loeschung', 'list_protokoll', 'list_qs', 'list_sichtbeobachtung', 'list_stadium', 'list_warteschlange', 'register_nutzer', 'release_automatisch',
    'require_export_lock',
    'require_nutzer_right', 'require_reader', 'require_zugangsstand', 'set_abgleich_komplett', 'set_abgleich_verlauf', 'set_entscheidung', 'set_experten_nur_zustaendig', 'set_export_datei', 'set_export_lauf', 'set_grenzlauf_grenze',
    'set_mandant_entwurf', 'set_nutzer_daten_link', 'set_nutzer_link', 'set_nutzer_medien', 'set_pruefgrund_aller', 'set_pruefung', 'set_raster_zahl', 'sweep_konto', 'sweep_medium_import',
    'create_antwort', 'create_sichtbeobachtung_link', 'delete_mitteilung', 'get_frage_mail', 'get_haeufigkeit', 'get_mitteilung', 'get_sichtbeobachtung_of_link', 'list_auskunft_nachricht',
    'list_mitteilung_faellig', 'set_haeufigkeit', 'set_haeufigkeit_of_link', 'set_mail_abgelehnt', 'set_mitteilung_mail',
    'update_grenzlauf', 'update_nutzer', 'update_sichtbeobachtung', 'use_nutzer_daten_link', 'use_nutzer_link', 'use_nutzer_loesch_link'];
  v_routine regprocedure;
begin
  for v_routine in
    select p.oid
    from pg_proc p
    where p.pronamespace = 'api'::regnamespace and p.proname = any (v_service) and not p.prosecdef
  loop
    execute format('alter function %s security definer set search_path = public, pg_temp', v_routine);
  end loop;
  if to_regrole('portal_dienst') is not null then
    -- portal for the types of its columns; no table of it.
    grant usage on schema portal, api to portal_dienst;
    revoke execute on all functions in schema api from portal_dienst;
    execute (
      select format('grant execute on function %s to portal_dienst', string_agg(p.oid::regprocedure::text, ', '))
      from pg_proc p
      where p.pronamespace = 'api'::regnamespace and p.proname = any (v_service));
    perform api.grant_warteschlange();
  end if;
end
$$;

do $$
begin
  if to_regrole('portal_dienst') is not null and to_regrole('gis_public') is not null
    and not pg_has_role('portal_dienst', 'gis_public', 'member') then
    grant gis_public to portal_dienst;
  end if;
exception
  -- Another database of the server is migrated at the same time, and gave it meanwhile.
  when insufficient_privilege or unique_violation then null;
end
$$;

-- The service answers maps and GIS programs as gis_public (O0.1): whoever migrates may become that. To a role that made the group
-- that is not given by itself.
do $$
begin
  if to_regrole('gis_public') is not null and not api.is_ausgabe_erlaubt() then
    execute format('grant gis_public to %I', current_user);
  end if;
exception
  when insufficient_privilege or unique_violation then null;
end
$$;

-- Until PostgreSQL 14 everybody could create tables and functions in schema public, and databases keep that when they are upgraded.
do $$
begin
  if exists (
    select
    from pg_namespace n, aclexplode(n.nspacl) a
    where n.nspname = 'public' and a.grantee = 0 and a.privilege_type = 'CREATE')
  then
    revoke create on schema public from public;
  end if;
exception
  when insufficient_privilege then null;
end
$$;

-- The server has one table of locks for all its sessions. What everybody may lock without owning it fills that table from one
-- session: what api.list_sperrende_funktion() lists, and temporary tables. Those of api.list_sperrende_rolle() keep them.
do $$
declare
  v_routines text;
  v_counters text;
  v_keeper regrole;
  v_keepers regrole[] := array(select api.list_sperrende_rolle());
begin
  begin
    select string_agg(f::text, ', '), string_agg(f::text, ', ') filter (where f::text ~ '^pg_stat_get_')
    into v_routines, v_counters
    from api.list_sperrende_funktion(public_only => true) f;
    if v_routines is not null then
      foreach v_keeper in array v_keepers loop
        execute format('grant execute on function %s to %s', v_routines, v_keeper);
      end loop;
      execute format('revoke execute on function %s from public', v_routines);
    end if;
    if v_counters is not null then
      -- PostgreSQL's own role for whoever watches the server.
      execute format('grant execute on function %s to pg_monitor', v_counters);
    end if;
    -- Of all these the queue needs two.
    if to_regrole('portal_dienst') is not null then
      grant execute on function pg_catalog.pg_advisory_xact_lock(bigint), pg_catalog.pg_try_advisory_xact_lock(bigint) to portal_dienst;
    end if;
  exception
    when insufficient_privilege then null;
  end;
  -- The functions are the administrator's, the database may be the migrating role's own.
  if exists (
    select
    from pg_database d, aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) a
    where d.datname = current_database() and a.grantee = 0 and a.privilege_type = 'TEMPORARY')
  then
    foreach v_keeper in array v_keepers loop
      execute format('grant temporary on database %I to %s', current_database(), v_keeper);
    end loop;
    execute format('revoke temporary on database %I from public', current_database());
  end if;
exception
  when insufficient_privilege then null;
end
$$;

-- Only the owner of the extension can close what PostGIS gives to everybody. Tiles are packed with the rights of the functions' owner.
do $$
declare
  v_routines text;
  v_packing text;
  v_packer regrole := (
    select p.proowner from pg_proc p where p.pronamespace = 'ausgabe'::regnamespace and p.proname = 'get_tile');
begin
  select string_agg(f::text, ', '), string_agg(f::text, ', ') filter (where f::text ~ '^(public\.)?st_asmvt\(')
  into v_routines, v_packing
  from api.list_postgis_funktion(public_only => true) f;
  if v_packing is not null then
    execute format('grant execute on function %s to %s', v_packing, v_packer);
  end if;
  if v_routines is not null then
    execute format('revoke execute on function %s from public', v_routines);
  end if;
exception
  when insufficient_privilege then null;
end
$$;

-- And where it can't be closed, no histogram of true places is there: nothing is searched by these columns. Servers without
-- the fix for CVE-2025-8713 also hand the statistics of a view's tables to whoever may not read the view.
do $$
declare
  v_statement text;
begin
  for v_statement in
    select format('alter table %s alter column %I set statistics 0', a.attrelid::regclass, a.attname)
    from pg_attribute a
    where coalesce(a.attstattarget, -1) <> 0
      and (a.attrelid, a.attname) in (
        ('portal.sichtbeobachtung'::regclass, 'point'),
        ('portal.sichtbeobachtung_exakt'::regclass, 'place'),
        ('portal.sichtbeobachtung_exakt'::regclass, 'bemerkung'))
  loop
    execute v_statement;
  end loop;
end
$$;
