-- Which sightings a list shows. Chooses ids only; sichtbeobachtung/lesen.sql shows them.
--
-- The filters come as one value, are resolved once into a portal.listenfilter, and private.list_id hands that to the walk that is
-- right for it: the first line that fits. `+` says that the filter may be there too. Milliseconds of a page's 101 ids at a million
-- sightings, PostgreSQL 15, 2026-11-22.
--
-- | reader | filters | walk | index | ms |
-- | --- | --- | --- | --- | --- |
-- | logged in | own records | list_id_of_nutzer | sichtbeobachtung_nutzer | 0.04 |
-- | any | own records with any filter | list_id_of_filters | the planner's choice | |
-- | logged in | none | list_id_of_public | sichtbeobachtung_neu | 0.03 |
-- | logged in | status | list_id_of_status | sichtbeobachtung_status_shown | 0.03 |
-- | anonymous | none | list_id_of_frei | sichtbeobachtung_status_shown | 0.03 |
-- | anonymous | one species | list_id_of_art | sichtbeobachtung_art | 0.07 |
-- | anonymous | one group | list_id_of_gruppe | sichtbeobachtung_gruppe | 0.10 |
-- | anonymous | year | list_id_of_jahr | sichtbeobachtung_jahr | 0.09 |
-- | anonymous | one species, year | list_id_of_art_and_jahr | sichtbeobachtung_art_jahr | 0.02 |
-- | anonymous | tenant | list_id_of_mandant | mandant_sichtbeobachtung_frei | 0.13 |
-- | anonymous | tenant, one group | list_id_of_mandant_and_gruppe | mandant_sichtbeobachtung_gruppe | 0.20 |
-- | anonymous | days | list_id_of_days | sichtbeobachtung_datum | 0.80 |
-- | logged in | days | list_id_of_days | sichtbeobachtung_datum, sichtbeobachtung_unreleased | 16 where they are frequent |
-- | any | box + days + year + status | list_id_in_box | see sichtbeobachtung/listen_box.sql | 0.87 for 10 km, 4.45 for 100 km |
-- | any | all others | list_id_of_filters | see sichtbeobachtung/listen_filter.sql | |
--
-- Every walk but the last has static statements, whose plans are kept. One statement for all, with `(p is null or column = p)`,
-- took 2 185 ms for one species at 10 million sightings. A walk takes the whole filter and ignores what it is not right for: whoever
-- adds a kind of filter counts it in private.list_id.

-- What a client's filters mean: names and numbers of species and groups as ids, the tenant by its id.
--   tenant  the addressed tenant
--   reader  who asks, null for anonymous
--   filter  as of api.list_sichtbeobachtung
-- errors    MANUN no such tenant
create or replace function private.to_listenfilter(tenant integer, reader bigint, filter jsonb, before_id bigint, row_limit integer)
  returns portal.listenfilter
  language plpgsql
  stable
as $$
declare
  f portal.listenfilter;
  v_mandant text;
  v_artengruppe_id integer;
  v_legacy_gid integer;
  v_is_animal boolean;
begin
  f.tenant := tenant;
  f.reader := reader;
  f.zustaendig := private.get_zustaendigkeit(reader, entscheiden => false);
  f.exempt := (f.zustaendig).gilt and num_nonnulls((f.zustaendig).mandanten, (f.zustaendig).gids) = 0;
  f.before_id := coalesce(before_id, 9007199254740991);
  f.row_limit := row_limit;
  f.bereich := filter ->> 'bereich';
  -- The newest page of everybody has nothing else.
  if filter - 'bereich' = '{}' then
    return f;
  end if;

  f.status := (filter ->> 'status')::portal.status;
  f.jahr := (filter ->> 'jahr')::integer;
  f.datum_von := (filter ->> 'datum_von')::date;
  f.datum_bis := (filter ->> 'datum_bis')::date;
  f.x1 := (filter -> 'bbox' ->> 0)::float8;
  f.y1 := (filter -> 'bbox' ->> 1)::float8;
  f.x2 := (filter -> 'bbox' ->> 2)::float8;
  f.y2 := (filter -> 'bbox' ->> 3)::float8;
  v_mandant := (filter ->> 'mandant')::portal.kurztext;
  if v_mandant is not null then
    select m.id into f.mandant from portal.mandant m where lower(m.kuerzel) = lower(v_mandant);
    if not found then
      raise exception 'no such tenant' using errcode = 'MANUN', column = 'mandant';
    end if;
  end if;
  if filter ?| '{titel_deutsch,titel_wissenschaftlich,eu_guid,art_id,legacy_regional_art_id}' then
    f.arts := private.list_art_of_filter(
      tenant, (filter ->> 'titel_deutsch')::portal.kurztext, (filter ->> 'titel_wissenschaftlich')::portal.kurztext,
      (filter ->> 'eu_guid')::portal.kurztext, (filter ->> 'art_id')::portal.kurztext, (filter ->> 'legacy_regional_art_id')::integer);
  end if;
  if filter ?| '{artengruppe_id,legacy_regional_artengruppe_id,is_animal}' then
    v_artengruppe_id := (filter ->> 'artengruppe_id')::integer;
    v_legacy_gid := (filter ->> 'legacy_regional_artengruppe_id')::integer;
    v_is_animal := (filter ->> 'is_animal')::boolean;
    f.gids := array(
      select g.id from portal.artengruppe g
      where (v_artengruppe_id is null or g.id = v_artengruppe_id)
        and (v_legacy_gid is null or g.legacy_regional_artengruppe_id = v_legacy_gid)
        and (v_is_animal is null or g.is_animal = v_is_animal));
  end if;
  if f.bereich = 'oeffentlich' and (f.x1 is not null or f.mandant is not null) then
    f.arts_here := array(
      select am.art from portal.art_mandant am where am.mandant_id = tenant and am.sensibel);
  end if;
  return f;
end
$$;

-- The ids of one page, descending: by the walk that the table above names.
create or replace function private.list_id(f portal.listenfilter)
  returns bigint[]
  language plpgsql
  stable
as $$
declare
  v_dated constant boolean := f.datum_von is not null or f.datum_bis is not null;
  -- how many kinds of filters there are beside the reader's view
  v_kinds constant integer := num_nonnulls(f.arts, f.gids, f.jahr, f.mandant, f.x1) + v_dated::integer;
begin
  -- Names that no species has, a group that is not there.
  if f.arts = '{}' or f.gids = '{}' then
    return '{}';
  end if;

  if f.bereich <> 'oeffentlich' then
    if v_kinds = 0 and f.status is null then
      return private.list_id_of_nutzer(f);
    end if;
    return private.list_id_of_filters(f);
  end if;

  if v_kinds = 0 then
    if f.reader is null then
      return private.list_id_of_frei(f);
    elsif f.status is null then
      return private.list_id_of_public(f);
    end if;
    return private.list_id_of_status(f);
  end if;

  if v_dated and v_kinds = 1 and (f.reader is null or f.status is null) then
    return private.list_id_of_days(f);
  elsif f.reader is null and v_kinds = 1 then
    if cardinality(f.arts) = 1 then
      return private.list_id_of_art(f);
    elsif cardinality(f.gids) = 1 then
      return private.list_id_of_gruppe(f);
    elsif f.jahr is not null then
      return private.list_id_of_jahr(f);
    elsif f.mandant is not null then
      return private.list_id_of_mandant(f);
    end if;
  elsif f.reader is null and v_kinds = 2 then
    if cardinality(f.arts) = 1 and f.jahr is not null then
      return private.list_id_of_art_and_jahr(f);
    elsif f.mandant is not null and cardinality(f.gids) = 1 then
      return private.list_id_of_mandant_and_gruppe(f);
    end if;
  end if;

  if f.x1 is not null then
    -- The spatial index holds days: a year is a range of them.
    if f.jahr is not null then
      f.datum_von := greatest(f.datum_von, make_date(f.jahr, 1, 1));
      f.datum_bis := least(f.datum_bis, make_date(f.jahr, 12, 31));
    end if;
    if num_nonnulls(f.arts, f.gids, f.mandant) = 0 then
      return private.list_id_in_box(f);
    end if;
  end if;
  return private.list_id_of_filters(f);
end
$$;

-- Own records. By rows of account and id, which only their index delivers: as `nutzer_id = …` all records were looked through for the
-- few of an account (94 ms at 157 000). Without a sort, because another index begins with the account too: where the table had changed much
-- since its last vacuum, all of an account's 79 000 records were read from that for a page, and sorted (1 200 ms).
create or replace function private.list_id_of_nutzer(f portal.listenfilter)
  returns bigint[]
  language plpgsql
  stable
  set enable_sort = off
  set enable_incremental_sort = off
as $$
begin
  if f.bereich = 'persoenlich' then
    return array(
      select s.id from portal.sichtbeobachtung s
      where (s.nutzer_id, s.id) >= (f.reader, 0) and (s.nutzer_id, s.id) < (f.reader, f.before_id)
      order by s.nutzer_id desc, s.id desc limit f.row_limit);
  end if;
  return array(
    select s.id from portal.sichtbeobachtung s
    where (s.nutzer_id, s.id) >= (f.reader, 0) and (s.nutzer_id, s.id) < (f.reader, f.before_id) and s.bereich = 'privat'
    order by s.nutzer_id desc, s.id desc limit f.row_limit);
end
$$;

-- What is published, as those who are logged in see it.
create or replace function private.list_id_of_public(f portal.listenfilter)
  returns bigint[]
  language plpgsql
  stable
as $$
begin
  return array(
    select s.id from portal.sichtbeobachtung s
    where s.bereich = 'oeffentlich' and s.id < f.before_id
    order by s.id desc limit f.row_limit);
end
$$;

-- What is published and has one status. By rows of status and id, which only the index of both delivers: the one on id holds all the
-- new reports that wait for their review, and after an import of 200 000 of them this took 25 ms.
create or replace function private.list_id_of_status(f portal.listenfilter)
  returns bigint[]
  language plpgsql
  stable
as $$
begin
  return array(
    select s.id from portal.sichtbeobachtung s
    where s.bereich = 'oeffentlich' and (s.status, s.id) >= (f.status, 0) and (s.status, s.id) < (f.status, f.before_id)
    order by s.status desc, s.id desc limit f.row_limit);
end
$$;

-- What is released: everyone's newest page.
create or replace function private.list_id_of_frei(f portal.listenfilter)
  returns bigint[]
  language plpgsql
  stable
as $$
begin
  return array(
    select s.id from portal.sichtbeobachtung s
    where s.bereich = 'oeffentlich' and (s.status, s.id) >= ('freigegeben', 0) and (s.status, s.id) < ('freigegeben', f.before_id)
    order by s.status desc, s.id desc limit f.row_limit);
end
$$;

-- The released records of one species. Not by rows of species and id: the planner then sorted them all (seconds); they are few enough.
create or replace function private.list_id_of_art(f portal.listenfilter)
  returns bigint[]
  language plpgsql
  stable
as $$
begin
  return array(
    select s.id from portal.sichtbeobachtung s
    where s.bereich = 'oeffentlich' and s.status = 'freigegeben' and s.art = f.arts[1] and s.id < f.before_id
    order by s.id desc limit f.row_limit);
end
$$;

create or replace function private.list_id_of_art_and_jahr(f portal.listenfilter)
  returns bigint[]
  language plpgsql
  stable
as $$
begin
  return array(
    select s.id from portal.sichtbeobachtung s
    where s.bereich = 'oeffentlich' and s.status = 'freigegeben' and s.art = f.arts[1] and s.jahr = f.jahr and s.id < f.before_id
    order by s.id desc limit f.row_limit);
end
$$;

-- The released records of one group, by rows of group and id, as those of a year.
create or replace function private.list_id_of_gruppe(f portal.listenfilter)
  returns bigint[]
  language plpgsql
  stable
as $$
begin
  return array(
    select s.id from portal.sichtbeobachtung s
    where s.bereich = 'oeffentlich' and s.status = 'freigegeben'
      and (s.gid, s.id) >= (f.gids[1], 0) and (s.gid, s.id) < (f.gids[1], f.before_id)
    order by s.gid desc, s.id desc limit f.row_limit);
end
$$;

-- The released records of one year, by rows of year and id: as `jahr = …` an old year was looked for among all new records (27 ms at
-- 10 million).
create or replace function private.list_id_of_jahr(f portal.listenfilter)
  returns bigint[]
  language plpgsql
  stable
as $$
begin
  return array(
    select s.id from portal.sichtbeobachtung s
    where s.bereich = 'oeffentlich' and s.status = 'freigegeben'
      and (s.jahr, s.id) >= (f.jahr, 0) and (s.jahr, s.id) < (f.jahr, f.before_id)
    order by s.jahr desc, s.id desc limit f.row_limit);
end
$$;

-- The released records that lie in a tenant, as the reader is shown them. Written as ranges of rows, which only the index of the
-- tenant's own records delivers in order: as `mandant_id = …` the planner prefers to walk everybody's records (290 ms at 1 million for
-- the smallest tenant). Records are looked up only where the true point alone doesn't say enough, and as a value: `exists` might
-- become a scan of all of them.
create or replace function private.list_id_of_mandant(f portal.listenfilter)
  returns bigint[]
  language plpgsql
  stable
as $$
begin
  return array(
    select n.id
    from (
      select l.sichtbeobachtung_id as id
      from portal.mandant_sichtbeobachtung l
      where (l.mandant_id, l.frei, l.sichtbeobachtung_id) >= (f.mandant, true, 0)
        and (l.mandant_id, l.frei, l.sichtbeobachtung_id) < (f.mandant, true, f.before_id)
        and (l.exakt or (
          select private.is_masked(s.schutz, s.art = any (f.arts_here), s.nutzer_id, null, false)
          from portal.sichtbeobachtung s
          where s.id = l.sichtbeobachtung_id))
      order by l.mandant_id desc, l.frei desc, l.sichtbeobachtung_id desc
      -- the largest page and one more: a limit that the planner does not know counts as a tenth of the table
      limit 1001
    ) n
    limit f.row_limit);
end
$$;

-- The same of one group.
create or replace function private.list_id_of_mandant_and_gruppe(f portal.listenfilter)
  returns bigint[]
  language plpgsql
  stable
as $$
begin
  return array(
    select n.id
    from (
      select l.sichtbeobachtung_id as id
      from portal.mandant_sichtbeobachtung l
      where (l.mandant_id, l.frei, l.gid, l.sichtbeobachtung_id) >= (f.mandant, true, f.gids[1], 0)
        and (l.mandant_id, l.frei, l.gid, l.sichtbeobachtung_id) < (f.mandant, true, f.gids[1], f.before_id)
        and (l.exakt or (
          select private.is_masked(s.schutz, s.art = any (f.arts_here), s.nutzer_id, null, false)
          from portal.sichtbeobachtung s
          where s.id = l.sichtbeobachtung_id))
      order by l.mandant_id desc, l.frei desc, l.gid desc, l.sichtbeobachtung_id desc
      -- as in private.list_id_of_mandant
      limit 1001
    ) n
    limit f.row_limit);
end
$$;

-- One page of sightings, id descending (D1.11).
--   tenant     the addressed tenant
--   reader     who asks, null for anonymous
--   filter     JSON object of filters as the interface names them (docs/interface.md); one that is missing matches everything. bereich
--              is there always; mandant is an abbreviation, any case; days are YYYY-MM-DD; bbox is an array of left, bottom, right,
--              top in EPSG:25832 (metres), edges included
--   before_id  only records with a smaller id (the cursor)
--   row_limit  at most 1000
-- returns      result: JSON array as text, of 2 MiB at most; last_id: the id to go on after, null on the last page
-- errors       ANMLD (column names the parameter) needs a login; MANUN no such tenant; 22023 no such filter
create or replace function api.list_sichtbeobachtung(tenant integer, reader bigint, filter portal.felder, before_id bigint, row_limit integer)
  returns table (result text, last_id bigint)
  language plpgsql
  stable
as $$
declare
  f portal.listenfilter;
  v_id bigint[];
  v_shown integer;
  v_max_bytes constant integer := 2097152;
begin
  perform private.require_feld(
    filter,
    '{bereich,status,titel_deutsch,titel_wissenschaftlich,eu_guid,art_id,legacy_regional_art_id,artengruppe_id,'
    'legacy_regional_artengruppe_id,is_animal,jahr,datum_von,datum_bis,mandant,bbox}');
  if reader is null and filter ->> 'bereich' <> 'oeffentlich' then
    raise exception 'needs a login' using errcode = 'ANMLD', column = 'bereich';
  end if;
  if reader is null and filter ->> 'status' <> 'freigegeben' then
    raise exception 'needs a login' using errcode = 'ANMLD', column = 'status';
  end if;

  -- One more than asked for tells whether there is a further page.
  f := private.to_listenfilter(tenant, reader, filter, before_id, row_limit + 1);
  v_id := private.list_id(f);
  -- All at once, which nearly always fits: in steps, each with its own beginning and its own copies of the text, a page of 1000 took a
  -- third longer.
  v_shown := least(cardinality(v_id), row_limit);
  result := '[' || coalesce(case when reader is null then private.render_sichtbeobachtung_of_all(v_id[:v_shown], null, tenant)
    else private.render_sichtbeobachtung(v_id[:v_shown], tenant, reader, detail => false) end, '') || ']';
  if octet_length(result) > v_max_bytes then
    select p.result, p.shown into result, v_shown from private.render_page(v_id[:v_shown], null, tenant, reader, v_max_bytes) p;
  end if;
  if cardinality(v_id) > v_shown then
    last_id := v_id[v_shown];
  end if;
  return next;
end
$$;
comment on function api.list_sichtbeobachtung(integer, bigint, portal.felder, bigint, integer) is
  'Sightings that match all filters, id descending, masked for this reader: one page as JSON text; last_id is the id to go on after, null on the last page';
