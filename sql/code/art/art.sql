-- Species groups and species as a tenant defines them.

-- A name filter (D1.9, D1.21) as a LIKE pattern: whole name, any case, % for any run of characters, nothing else special.
create or replace function private.to_name_pattern(name text)
  returns text
  language sql
  immutable
  strict
  parallel safe
as $$
  select replace(replace(lower(normalize(name, nfc)), '\', '\\'), '_', '\_')
$$;

-- The species that a name, an id or a deprecated id selects at a tenant. Species which the tenant doesn't define have
-- their general names and no tenant-specific id (D3.21).
--   tenant                  the addressed tenant
--   titel_deutsch, titel_wissenschaftlich, eu_guid, art_id, legacy_regional_art_id   null = any
-- returns                     ids of species; empty when nothing matches
create or replace function private.list_art_of_filter(
  tenant integer, titel_deutsch text, titel_wissenschaftlich text, eu_guid text, art_id text, legacy_regional_art_id integer)
  returns integer[]
  language plpgsql
  stable
as $$
#variable_conflict use_column
declare
  v_deutsch text := private.to_name_pattern(list_art_of_filter.titel_deutsch);
  v_wissenschaftlich text := private.to_name_pattern(list_art_of_filter.titel_wissenschaftlich);
  v_arts integer[];
begin
  -- Each filter narrows by its own index; catch-all conditions would read all species under a generic plan.
  if list_art_of_filter.art_id is not null then
    v_arts := array(
      select am.art from portal.art_mandant am
      where am.mandant_id = tenant and am.art_id = list_art_of_filter.art_id);
  end if;
  if list_art_of_filter.legacy_regional_art_id is not null then
    v_arts := array(
      select am.art from portal.art_mandant am
      where am.mandant_id = tenant and am.legacy_regional_art_id = list_art_of_filter.legacy_regional_art_id
        and (v_arts is null or am.art = any (v_arts)));
  end if;
  if list_art_of_filter.eu_guid is not null then
    v_arts := array(
      select a.id from portal.art a
      where a.eu_guid = list_art_of_filter.eu_guid and (v_arts is null or a.id = any (v_arts)));
  end if;
  if v_deutsch is not null then
    v_arts := array(
      select am.art from portal.art_mandant am
      where am.mandant_id = tenant and lower(am.name_deutsch) like v_deutsch and (v_arts is null or am.art = any (v_arts))
      union all
      select a.id from portal.art a
      where lower(a.name_deutsch) like v_deutsch and (v_arts is null or a.id = any (v_arts))
        and not exists (
          select from portal.art_mandant am
          where am.mandant_id = tenant and am.art = a.id and am.name_deutsch is not null));
  end if;
  if v_wissenschaftlich is not null then
    v_arts := array(
      select am.art from portal.art_mandant am
      where am.mandant_id = tenant and lower(am.name_wissenschaftlich) like v_wissenschaftlich
        and (v_arts is null or am.art = any (v_arts))
      union all
      select a.id from portal.art a
      where lower(a.name_wissenschaftlich) like v_wissenschaftlich and (v_arts is null or a.id = any (v_arts))
        and not exists (
          select from portal.art_mandant am
          where am.mandant_id = tenant and am.art = a.id and am.name_wissenschaftlich is not null));
  end if;
  return v_arts;
end
$$;

create or replace function api.list_artengruppe(is_animal boolean, before_id integer, row_limit integer)
  returns table (result text, last_id integer)
  language sql
  stable
as $$
  with page as (
    select g.id, row_to_json(r)::text as json
    from portal.artengruppe g,
      lateral (select g.id, g.name_deutsch, g.is_animal) r
    where (list_artengruppe.is_animal is null or g.is_animal = list_artengruppe.is_animal)
      and (before_id is null or g.id < before_id)
    order by g.id desc
    limit row_limit + 1
  )
  select l.result, l.last_id::integer
  from private.to_page(
    array(select p.id from page p order by p.id desc), array(select p.json from page p order by p.id desc), row_limit) l
$$;
comment on function api.list_artengruppe(boolean, integer, integer) is
  'Species groups, id descending: one page as JSON text; last_id is the id to go on after, null on the last page';

-- name_regexp_ci is matched against each name separately (D1.10).
create or replace function api.list_art(
  tenant integer, is_animal boolean, artengruppe portal.kurztext, gid integer, name_regexp_ci portal.kurztext,
  before_id integer, row_limit integer)
  returns table (result text, last_id integer)
  language plpgsql
  stable
  -- A page is the end of an index: else all species are joined and sorted for it (44 ms against 0.6 with 12 000 of them).
  set enable_sort = off
  -- Where a sort is left all the same it looks so dear that it would be compiled first (600 ms).
  set jit = off
as $$
#variable_conflict use_column
begin
  return query
  with page as (
    select a.id, row_to_json(r)::text as json
    from portal.art_mandant am
    join portal.art a on a.id = am.art
    join portal.artengruppe g on g.id = a.gid,
      lateral (
        select a.id, a.eu_guid, am.art_id,
          coalesce(am.name_wissenschaftlich, a.name_wissenschaftlich) as name_wissenschaftlich,
          coalesce(am.name_deutsch, a.name_deutsch) as name_deutsch,
          g.name_deutsch as artengruppe, a.gid, g.is_animal, am.sensibel) r
    where am.mandant_id = tenant
      and (list_art.is_animal is null or g.is_animal = list_art.is_animal)
      and (list_art.gid is null or a.gid = list_art.gid)
      and (list_art.artengruppe is null or lower(g.name_deutsch) like private.to_name_pattern(list_art.artengruppe))
      and (before_id is null or a.id < before_id)
      and (name_regexp_ci is null or r.name_deutsch ~* name_regexp_ci or r.name_wissenschaftlich ~* name_regexp_ci)
    order by a.id desc
    limit row_limit + 1
  )
  select l.result, l.last_id::integer
  from private.to_page(
    array(select p.id from page p order by p.id desc), array(select p.json from page p order by p.id desc), row_limit) l;
end
$$;
comment on function api.list_art(integer, boolean, portal.kurztext, integer, portal.kurztext, integer, integer) is
  'Species that a tenant defines, id descending: one page as JSON text; last_id is the id to go on after, null on the last page';

-- One species as a tenant defines it, with its portrait, photos and confusable species.
-- errors  NFUND unknown, or not defined by this tenant (D3.25)
create or replace function api.get_art(tenant integer, id integer)
  returns text
  language plpgsql
  stable
as $$
#variable_conflict use_column
declare
  v_result text;
begin
  select row_to_json(r)::text into v_result
  from portal.art_mandant am
  join portal.art a on a.id = am.art
  join portal.artengruppe g on g.id = a.gid
  left join portal.verwechslung w on w.art = a.id,
    lateral (
      select a.id, a.eu_guid, am.art_id,
        coalesce(am.name_wissenschaftlich, a.name_wissenschaftlich) as name_wissenschaftlich,
        coalesce(am.name_deutsch, a.name_deutsch) as name_deutsch,
        g.name_deutsch as artengruppe, a.gid, g.is_animal, am.sensibel,
        a.bluetenmerkmale, a.bluetezeit, a.fortpflanzung, a.gefaehrdung, a.lebensraum, a.nahrung, a.oekologie, a.quelle,
        a.ueberregionale_verbreitung, am.regionale_verbreitung, a.schutzwuerdigkeit_und_schutzstatus, a.vegetative_merkmale,
        a.verhalten,
        coalesce((
          select json_agg(json_build_object('uri', f.uri, 'autor', f.autor, 'lizenz', f.lizenz, 'bildunterschrift', f.bildunterschrift) order by f.id)
          from portal.art_foto f where f.art = a.id), '[]') as foto,
        json_build_object(
          'beschreibung', w.beschreibung,
          'art', coalesce((
            select json_agg(json_build_object('aid', x.aid) order by x.aid) from portal.verwechslung_art x where x.art = a.id), '[]'),
          'foto', coalesce((
            select json_agg(json_build_object('uri', f.uri, 'autor', f.autor, 'lizenz', f.lizenz, 'bildunterschrift', f.bildunterschrift) order by f.id)
            from portal.verwechslung_foto f where f.art = a.id), '[]')) as verwechslungsgefahr) r
  where am.mandant_id = tenant and am.art = get_art.id;
  if not found then
    raise exception 'no such species' using errcode = 'NFUND';
  end if;
  return '[' || v_result || ']';
end
$$;
comment on function api.get_art(integer, integer) is 'One species as the tenant defines it, with portrait, as JSON text';

create or replace function api.list_stadium(before_id integer, row_limit integer)
  returns table (result text, last_id integer)
  language sql
  stable
as $$
  with page as (
    select s.id, row_to_json(r)::text as json
    from portal.stadium s, lateral (select s.id, s.name, s.phaenogramm) r
    where before_id is null or s.id < before_id
    order by s.id desc
    limit row_limit + 1
  )
  select l.result, l.last_id::integer
  from private.to_page(
    array(select p.id from page p order by p.id desc), array(select p.json from page p order by p.id desc), row_limit) l
$$;
comment on function api.list_stadium(integer, integer) is
  'Developmental stages, id descending: one page as JSON text; last_id is the id to go on after, null on the last page';

create or replace function api.list_aktivitaet(before_id integer, row_limit integer)
  returns table (result text, last_id integer)
  language sql
  stable
as $$
  with page as (
    select a.id, row_to_json(r)::text as json
    from portal.aktivitaet a, lateral (select a.id, a.name) r
    where before_id is null or a.id < before_id
    order by a.id desc
    limit row_limit + 1
  )
  select l.result, l.last_id::integer
  from private.to_page(
    array(select p.id from page p order by p.id desc), array(select p.json from page p order by p.id desc), row_limit) l
$$;
comment on function api.list_aktivitaet(integer, integer) is
  'Activities, id descending: one page as JSON text; last_id is the id to go on after, null on the last page';
