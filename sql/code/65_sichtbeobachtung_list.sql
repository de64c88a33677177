-- Which sightings a list shows. Chooses ids only; 64_sichtbeobachtung_read.sql shows them.
--
-- The frequent combinations have a static statement each, whose plan is kept (0.5 ms a page). One statement for all of
-- them, with `(p is null or column = p)`, took 2 185 ms for one species at 10 million sightings; everything else is put
-- together from the filters that are present.

-- The ids of one page, descending.
--   arts, gids  null = any; empty = none
--   mandant     id of a tenant
--   bbox        left, bottom, right, top in EPSG:25832 (metres)
--   before_id   at most 2^53 - 1
create or replace function private.list_sichtbeobachtung_id(
  tenant integer, reader bigint, bereich text, status portal.status, arts integer[], gids integer[], jahr integer,
  datum_von date, datum_bis date, mandant integer, bbox float8[], before_id bigint, row_limit integer)
  returns bigint[]
  language plpgsql
  stable
as $$
#variable_conflict use_column
declare
  v_exempt boolean := private.is_exempt(reader);
  v_own boolean := bereich <> 'oeffentlich';
  v_dated boolean := datum_von is not null or datum_bis is not null;
  -- how many kinds of filters there are beside the reader's view
  v_filters integer := num_nonnulls(arts, gids, list_sichtbeobachtung_id.jahr, mandant, bbox) + v_dated::integer;
  v_arts_here integer[];
begin
  if arts = '{}' or gids = '{}' then
    return '{}';
  end if;

  -- 1. own records. By rows of account and id, which only their index delivers: as `nutzer_id = …` all records were looked through
  -- for the few of an account (94 ms at 157 000).
  if v_own and v_filters = 0 and list_sichtbeobachtung_id.status is null then
    if list_sichtbeobachtung_id.bereich = 'persoenlich' then
      return array(
        select s.id from portal.sichtbeobachtung s
        where (s.nutzer_id, s.id) >= (reader, 0) and (s.nutzer_id, s.id) < (reader, before_id)
        order by s.nutzer_id desc, s.id desc limit row_limit);
    end if;
    return array(
      select s.id from portal.sichtbeobachtung s
      where (s.nutzer_id, s.id) >= (reader, 0) and (s.nutzer_id, s.id) < (reader, before_id) and s.bereich = 'privat'
      order by s.nutzer_id desc, s.id desc limit row_limit);
  end if;

  -- 2. logged in: newest, or one status. By rows of status and id, which only the index of both delivers: the one on id holds all
  -- the new reports that wait for their review, and after an import of 200 000 of them this took 25 ms.
  if not v_own and reader is not null and v_filters = 0 then
    if list_sichtbeobachtung_id.status is null then
      return array(
        select s.id from portal.sichtbeobachtung s
        where s.bereich = 'oeffentlich' and s.id < before_id
        order by s.id desc limit row_limit);
    end if;
    return array(
      select s.id from portal.sichtbeobachtung s
      where s.bereich = 'oeffentlich' and (s.status, s.id) >= (list_sichtbeobachtung_id.status, 0)
        and (s.status, s.id) < (list_sichtbeobachtung_id.status, before_id)
      order by s.status desc, s.id desc limit row_limit);
  end if;

  -- 3. everyone's view with one filter, or two that belong together. Groups and years by rows of the filter and the id
  -- for the same reason: an old year was looked for among all new records (27 ms at 10 million). Species not: their records are few
  -- enough for the planner, and as rows of species and id it sorted them all (seconds).
  if reader is null and v_filters = 0 then
    return array(
      select s.id from portal.sichtbeobachtung s
      where s.bereich = 'oeffentlich' and (s.status, s.id) >= ('freigegeben', 0) and (s.status, s.id) < ('freigegeben', before_id)
      order by s.status desc, s.id desc limit row_limit);
  elsif reader is null and v_filters = 1 then
    if cardinality(arts) = 1 then
      return array(
        select s.id from portal.sichtbeobachtung s
        where s.bereich = 'oeffentlich' and s.status = 'freigegeben' and s.art = arts[1] and s.id < before_id
        order by s.id desc limit row_limit);
    elsif cardinality(gids) = 1 then
      return array(
        select s.id from portal.sichtbeobachtung s
        where s.bereich = 'oeffentlich' and s.status = 'freigegeben'
          and (s.gid, s.id) >= (gids[1], 0) and (s.gid, s.id) < (gids[1], before_id)
        order by s.gid desc, s.id desc limit row_limit);
    elsif list_sichtbeobachtung_id.jahr is not null then
      return array(
        select s.id from portal.sichtbeobachtung s
        where s.bereich = 'oeffentlich' and s.status = 'freigegeben'
          and (s.jahr, s.id) >= (list_sichtbeobachtung_id.jahr, 0) and (s.jahr, s.id) < (list_sichtbeobachtung_id.jahr, before_id)
        order by s.jahr desc, s.id desc limit row_limit);
    end if;
  elsif reader is null and v_filters = 2 and cardinality(arts) = 1 and list_sichtbeobachtung_id.jahr is not null then
    return array(
      select s.id from portal.sichtbeobachtung s
      where s.bereich = 'oeffentlich' and s.status = 'freigegeben' and s.art = arts[1] and s.jahr = list_sichtbeobachtung_id.jahr
        and s.id < before_id
      order by s.id desc limit row_limit);
  end if;

  if not v_own and (bbox is not null or mandant is not null) then
    v_arts_here := array(
      select am.art from portal.art_mandant am where am.mandant_id = tenant and am.sensibel);
  end if;

  -- Written as ranges of rows, which only the index of the tenant's own records delivers in order: as `mandant_id = …` the
  -- planner prefers to walk everybody's records (290 ms at 1 million for the smallest tenant). `limit 1001`, the most that a
  -- page needs, says that little is wanted; a limit that the planner does not know counts as a tenth of the table. Records are
  -- looked up only where the true point alone doesn't say enough, and as a value: `exists` might become a scan of all of them.
  if reader is null and mandant is not null and v_filters = 1 then
    return array(
      select n.id
      from (
        select l.sichtbeobachtung_id as id
        from portal.mandant_sichtbeobachtung l
        where (l.mandant_id, l.frei, l.sichtbeobachtung_id) >= (mandant, true, 0)
          and (l.mandant_id, l.frei, l.sichtbeobachtung_id) < (mandant, true, before_id)
          and (l.exakt or (
            select private.is_masked(s.schutz, s.art = any (v_arts_here), s.nutzer_id, null, false)
            from portal.sichtbeobachtung s
            where s.id = l.sichtbeobachtung_id))
        order by l.mandant_id desc, l.frei desc, l.sichtbeobachtung_id desc
        limit 1001
      ) n
      limit row_limit);
  elsif reader is null and mandant is not null and cardinality(gids) = 1 and v_filters = 2 then
    return array(
      select n.id
      from (
        select l.sichtbeobachtung_id as id
        from portal.mandant_sichtbeobachtung l
        where (l.mandant_id, l.frei, l.gid, l.sichtbeobachtung_id) >= (mandant, true, gids[1], 0)
          and (l.mandant_id, l.frei, l.gid, l.sichtbeobachtung_id) < (mandant, true, gids[1], before_id)
          and (l.exakt or (
            select private.is_masked(s.schutz, s.art = any (v_arts_here), s.nutzer_id, null, false)
            from portal.sichtbeobachtung s
            where s.id = l.sichtbeobachtung_id))
        order by l.mandant_id desc, l.frei desc, l.gid desc, l.sichtbeobachtung_id desc
        limit 1001
      ) n
      limit row_limit);
  end if;

  if reader is null and v_dated and v_filters = 1 then
    return private.list_sichtbeobachtung_id_in_time(
      coalesce(datum_von, '-infinity'), coalesce(datum_bis, 'infinity'), before_id, row_limit);
  end if;
  -- The spatial index holds days: a year is a range of them.
  if bbox is not null and list_sichtbeobachtung_id.jahr is not null then
    datum_von := greatest(datum_von, make_date(list_sichtbeobachtung_id.jahr, 1, 1));
    datum_bis := least(datum_bis, make_date(list_sichtbeobachtung_id.jahr, 12, 31));
  end if;
  if not v_own and bbox is not null and num_nonnulls(arts, gids, mandant) = 0 then
    return private.list_sichtbeobachtung_id_in_box(
      reader, v_exempt, list_sichtbeobachtung_id.status, v_arts_here, bbox[1], bbox[2], bbox[3], bbox[4], datum_von, datum_bis,
      before_id, row_limit);
  end if;

  return private.list_sichtbeobachtung_id_of_filters(
    reader, v_exempt, list_sichtbeobachtung_id.bereich, list_sichtbeobachtung_id.status, v_arts_here, arts, gids,
    list_sichtbeobachtung_id.jahr, datum_von, datum_bis, mandant, bbox, before_id, row_limit);
end
$$;

-- The ids of one page for any filters together.
-- Three ways, each tried when the one before did not fill the page: the newest thousand records of one filter that has an
-- index, further back in that index when enough of them matched, and whatever the planner finds best for few records. The
-- planner alone can't tell: that a species is frequent but not in this box, or that its records of a year are all old.
--   exempt     the reader is administrator or expert
--   arts_here  the species that the addressed tenant protects
--   others     as in private.list_sichtbeobachtung_id
create or replace function private.list_sichtbeobachtung_id_of_filters(
  reader bigint, exempt boolean, bereich text, status portal.status, arts_here integer[], arts integer[], gids integer[],
  jahr integer, datum_von date, datum_bis date, mandant integer, bbox float8[], before_id bigint, row_limit integer)
  returns bigint[]
  language plpgsql
  stable
as $$
#variable_conflict use_column
declare
  v_own boolean := bereich <> 'oeffentlich';
  v_masked text := case when bereich <> 'oeffentlich' or exempt then 'false'
    else 'private.is_masked(s.schutz, s.art = any ($11), s.nutzer_id, $1, false)' end;
  v_scope text := case when bereich = 'oeffentlich' then $s$s.bereich = 'oeffentlich'$s$ else 's.nutzer_id = $1' end
    || ' and s.id < $3';
  -- what the index of the walk delivers, by id
  v_base text := format('select s.* from portal.sichtbeobachtung s where %s', v_scope);
  v_columns text;
  v_values text;
  v_from text;
  v_where text[] := array[v_scope];
  v_of_mandant text[] := '{}';
  v_call text;
  v_id bigint[];
  v_depth integer;
  v_walked integer;
begin
  if bereich = 'privat' then
    v_where := v_where || $s$s.bereich = 'privat'$s$::text;
  elsif reader is null then
    v_where := v_where || $s$s.status = 'freigegeben'$s$::text;
  end if;
  if reader is not null and list_sichtbeobachtung_id_of_filters.status is not null then
    v_where := v_where || 's.status = $2'::text;
  end if;
  if arts is not null then
    v_where := v_where || case when cardinality(arts) = 1 then 's.art = ($5)[1]' else 's.art = any ($5)' end;
  end if;
  if gids is not null then
    v_where := v_where || case when cardinality(gids) = 1 then 's.gid = ($6)[1]' else 's.gid = any ($6)' end;
  end if;
  if list_sichtbeobachtung_id_of_filters.jahr is not null then
    v_where := v_where || 's.jahr = $7'::text;
  end if;
  if datum_von is not null then
    v_where := v_where || 's.datum >= $8'::text;
  end if;
  if datum_bis is not null then
    v_where := v_where || 's.datum <= $9'::text;
  end if;
  if bbox is not null then
    v_where := v_where || 'st_x(k.place) between $12 and $14 and st_y(k.place) between $13 and $15'::text;
  end if;
  v_from := format('cross join lateral (select case when %s then s.raster_point else s.point end as place) k', v_masked);

  if not v_own then
    if cardinality(arts) = 1 then
      v_base := v_base || ' and s.art = ($5)[1]';
    elsif mandant is not null then
      v_columns := format('(l.mandant_id, l.frei, %sl.sichtbeobachtung_id)', case when cardinality(gids) = 1 then 'l.gid, ' end);
      v_values := format('($10, %%L, %s%%s)', case when cardinality(gids) = 1 then '($6)[1], ' end);
      -- The index holds what everyone is shown, then the rest, both by id.
      select format('(select * from (%s) w order by w.sichtbeobachtung_id desc limit $16)', string_agg(
        format(
          '(select l.sichtbeobachtung_id, l.exakt from portal.mandant_sichtbeobachtung l '
          'where %1$s >= %2$s and %1$s < %3$s order by %4$s desc limit $16)',
          v_columns, format(v_values, f.frei, 0), format(v_values, f.frei, '$3'), replace(btrim(v_columns, '()'), ',', ' desc,')),
        ' union all '))
      into v_base
      from (values (true), (false)) f (frei)
      where case when reader is null then f.frei
        else coalesce(f.frei = (list_sichtbeobachtung_id_of_filters.status = 'freigegeben'), true) end;
    elsif cardinality(gids) = 1 then
      v_base := v_base || ' and s.gid = ($6)[1]';
    elsif list_sichtbeobachtung_id_of_filters.jahr is not null then
      v_base := v_base || ' and s.jahr = $7';
    end if;
  end if;
  if v_columns is null then
    v_base := format('(%s order by s.id desc limit $16)', v_base);
  end if;
  if mandant is not null then
    v_of_mandant := array[format(
      'exists (select from portal.mandant_sichtbeobachtung t '
      'where t.sichtbeobachtung_id = s.id and t.mandant_id = $10 and (t.exakt or %s))', v_masked)];
  end if;
  if v_columns is null then
    v_call := format(
      'select array(select s.id from %s s %s where %s order by s.id desc limit $4)',
      v_base, v_from, array_to_string(v_where || v_of_mandant, ' and '));
  else
    -- The order is that of the walk: `offset 0` looks each record up in its turn, and nothing else is joined.
    v_call := format(
      'select array(select s.id from %s b cross join lateral ('
      'select r.* from portal.sichtbeobachtung r where r.id = b.sichtbeobachtung_id offset 0) s %s where %s limit $4)',
      v_base, v_from, array_to_string(v_where || format('(b.exakt or %s)', v_masked), ' and '));
  end if;
  v_where := v_where || v_of_mandant;

  foreach v_depth in array array[1000, 30000 + 100 * row_limit] loop
    execute v_call into v_id
    using reader, list_sichtbeobachtung_id_of_filters.status, before_id, row_limit, arts, gids,
      list_sichtbeobachtung_id_of_filters.jahr, datum_von, datum_bis, mandant, arts_here,
      bbox[1], bbox[2], bbox[3], bbox[4], v_depth;
    if cardinality(v_id) = row_limit then
      return v_id;
    end if;
    execute format('select count(*) from %s b', v_base) into v_walked
    using reader, null, before_id, null, arts, gids, list_sichtbeobachtung_id_of_filters.jahr, null, null, mandant, null,
      null, null, null, null, v_depth;
    if v_walked < v_depth then
      return v_id;
    end if;
    exit when cardinality(v_id) * (30 + row_limit / 10) < row_limit;
  end loop;

  -- The place that this reader is shown is at most half a cell from the one in the index, whichever of the two is masked; so
  -- the box is widened for the index. Each of the two indexes holds a part of what is published.
  if bbox is not null and not v_own then
    v_where := v_where || case when reader is null then 's.shown_point && st_expand(st_makeenvelope($12, $13, $14, $15, 25832), 2500.5)'
      else $s$(s.status = 'freigegeben' and s.shown_point && st_expand(st_makeenvelope($12, $13, $14, $15, 25832), 2500.5)
        or s.status <> 'freigegeben' and s.shown_point && st_expand(st_makeenvelope($12, $13, $14, $15, 25832), 2500.5))$s$ end;
  end if;
  -- `+ 0` keeps the planner from walking all ids backwards, which was tried.
  execute format(
    'select array(select s.id from portal.sichtbeobachtung s %s where %s order by s.id + 0 desc limit $4)',
    v_from, array_to_string(v_where, ' and '))
  into v_id
  using reader, list_sichtbeobachtung_id_of_filters.status, before_id, row_limit, arts, gids,
    list_sichtbeobachtung_id_of_filters.jahr, datum_von, datum_bis, mandant, arts_here,
    bbox[1], bbox[2], bbox[3], bbox[4];
  return v_id;
end
$$;
