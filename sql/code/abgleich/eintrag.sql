-- The feed for mirrors, as it is written (O1): each record stands in it once, at the place of its last change that an anonymous reader
-- sees. abgleich/verlauf.sql makes places, abgleich/seite.sql reads them.

-- Puts records to the end of the feed. Called for changes that an anonymous reader at some tenant sees, and for no others.
--   bloecke  where they are shown and were shown before; null: anywhere
create or replace function private.set_abgleich(id bigint[], bloecke integer[] default null)
  returns void
  language plpgsql
  volatile
as $$
declare
  v_stelle bigint;
begin
  if pg_catalog.cardinality(id) = 0 then
    return;
  end if;
  v_stelle := private.get_stelle();
  insert into portal.abgleich as a (sichtbeobachtung_id, stelle)
  select distinct u.id, v_stelle from pg_catalog.unnest(set_abgleich.id) u (id) order by u.id
  on conflict (sichtbeobachtung_id) do update
    set stelle = excluded.stelle, geaendert = excluded.geaendert
    where a.stelle <> excluded.stelle;
  perform private.count_version(shown => 1, protokoll => 0, bloecke => set_abgleich.bloecke);
end
$$;

-- Puts released records that were just made to the end of the feed: many of them as one range of ids.
create or replace function private.create_abgleich_block(von bigint, bis bigint, bloecke integer[])
  returns void
  language plpgsql
  volatile
as $$
#variable_conflict use_column
begin
  insert into portal.abgleich_block (stelle, von, bis)
  values (private.get_stelle(), create_abgleich_block.von, create_abgleich_block.bis)
  on conflict (stelle, von) do update set bis = greatest(abgleich_block.bis, excluded.bis);
  perform private.count_version(shown => 1, protokoll => 0, bloecke => create_abgleich_block.bloecke);
end
$$;

-- The same for all released records of these species.
create or replace function private.set_abgleich_of_art(art integer[])
  returns void
  language plpgsql
  volatile
as $$
begin
  if pg_catalog.cardinality(art) = 0 then
    return;
  end if;
  perform private.set_abgleich(array(
    select s.id from portal.sichtbeobachtung s
    where s.art = any (set_abgleich_of_art.art) and private.is_shown_to_all(s.bereich, s.status)));
end
$$;

-- Whether every tenant's anonymous readers are shown the cell of a record: protected by itself, or its species by every tenant.
create or replace function private.is_masked_everywhere(schutz smallint, art integer)
  returns boolean
  language plpgsql
  stable
as $$
begin
  return schutz = 2 or schutz = 1 and not exists (
    select
    from portal.mandant m
    where not exists (
      select from portal.art_mandant am where am.mandant_id = m.id and am.art = is_masked_everywhere.art and am.sensibel));
end
$$;

-- Whether two versions of a record look alike to every anonymous reader. Every column counts but those named here, so that a new one is
-- never forgotten. Rows are compared as they are: as JSON, places would be written as text (0.6 ms a record, not 3 µs).
--   remarks  some tenant shows the remarks of protected records
create or replace function private.is_same_gezeigt(old_row portal.sichtbeobachtung, new_row portal.sichtbeobachtung, remarks boolean)
  returns boolean
  language plpgsql
  stable
as $$
begin
  -- Shown to those who are logged in, or to nobody.
  old_row.nutzer_id := new_row.nutzer_id;
  old_row.experte_id := new_row.experte_id;
  old_row.bemerkung_experte := new_row.bemerkung_experte;
  old_row.angelegt := new_row.angelegt;
  -- Made of the other columns; kept text may be written anew in another form.
  old_row.shown_point := new_row.shown_point;
  old_row.kopf_json := new_row.kopf_json;
  if old_row is not distinct from new_row then
    return true;
  end if;
  -- A place that everybody is shown the cell of counts by its cell, and what every tenant keeps back does not count.
  old_row.point := new_row.point;
  if not remarks then
    old_row := private.to_verborgen(old_row);
    new_row := private.to_verborgen(new_row);
  end if;
  return old_row is not distinct from new_row and private.is_masked_everywhere(new_row.schutz, new_row.art);
end
$$;

create or replace function private.abgleich_after_write()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
declare
  v_count bigint;
  v_von bigint;
  v_bis bigint;
  v_ids bigint[];
  v_bloecke integer[];
begin
  if tg_op = 'INSERT' then
    select count(*), min(n.id), max(n.id), array_agg(distinct private.to_block(n.cell_x, n.cell_y)) into v_count, v_von, v_bis, v_bloecke
    from new_row n
    where private.is_shown_to_all(n.bereich, n.status);
    -- One range for many: an entry for each cost a tenth of an import.
    if v_count >= 50 then
      perform private.create_abgleich_block(v_von, v_bis, v_bloecke);
    elsif v_count > 0 then
      perform private.set_abgleich(
        array(select n.id from new_row n where private.is_shown_to_all(n.bereich, n.status)), v_bloecke);
    end if;
  elsif tg_op = 'DELETE' then
    select coalesce(array_agg(o.id), '{}'), array_agg(distinct private.to_block(o.cell_x, o.cell_y)) into v_ids, v_bloecke
    from old_row o
    where private.is_shown_to_all(o.bereich, o.status);
    perform private.set_abgleich(v_ids, v_bloecke);
  else
    select coalesce(array_agg(n.id), '{}'),
      array_agg(distinct private.to_block(o.cell_x, o.cell_y)) || array_agg(distinct private.to_block(n.cell_x, n.cell_y))
    into v_ids, v_bloecke
    from new_row n
    join old_row o using (id)
    where case when private.is_shown_to_all(n.bereich, n.status) and private.is_shown_to_all(o.bereich, o.status)
        -- Tenants are asked for here, once and only then: most changes are of what nobody is shown.
        then not private.is_same_gezeigt(o, n, (
          select exists (select from portal.mandant m where m.bemerkung_geschuetzter = 'zeigen')))
      else private.is_shown_to_all(n.bereich, n.status) or private.is_shown_to_all(o.bereich, o.status) end;
    perform private.set_abgleich(v_ids, v_bloecke);
  end if;
  return null;
end
$$;

-- A group that becomes one of animals, a stage that counts for the yearly curve or does no more: shown with each record.
create or replace function private.artengruppe_after_update()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  perform private.set_abgleich(array(
    select s.id
    from portal.sichtbeobachtung s
    where s.gid = any (array(select n.id from new_row n join old_row o using (id) where n.is_animal <> o.is_animal))
      and private.is_shown_to_all(s.bereich, s.status)));
  return null;
end
$$;

create or replace function private.stadium_after_update()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  perform private.set_abgleich(array(
    select s.id
    from portal.sichtbeobachtung s
    where s.stadium_id = any (array(select n.id from new_row n join old_row o using (id) where n.phaenogramm <> o.phaenogramm))
      and private.is_shown_to_all(s.bereich, s.status)));
  return null;
end
$$;
