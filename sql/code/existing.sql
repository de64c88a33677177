-- What a database lacks that had sightings before it had these tables. The triggers are in place already, in this transaction:
-- nobody writes meanwhile.
do $$
begin
  if not exists (select from portal.raster_zelle) then
    perform private.set_raster_zelle();
  end if;
  -- What was there before the feed for mirrors stands at its beginning.
  if not exists (select from portal.abgleich_verlauf) then
    perform private.set_verlauf();
    insert into portal.abgleich_block (stelle, von, bis)
    select 0, 1, max(s.id) from portal.sichtbeobachtung s having max(s.id) is not null;
  end if;
  perform private.set_art_platz();
  if not exists (select from portal.sichtbeobachtung_gezeigt) then
    perform private.set_gezeigt_all();
    -- Then the rest was found with them. Else it is done afterwards, in small steps (api.set_raster_lage).
    update portal.installation set has_raster_lage = true;
  end if;
  -- Up to 0.16.0 squares stayed that had become empty. Whoever counts next deletes what is named; twice is no harm.
  insert into portal.raster_offen (cell_x, cell_y, eea10, tk)
  select private.to_cell(public.st_x(public.st_centroid(k.cell))), private.to_cell(public.st_y(public.st_centroid(k.cell))),
    case when k.gitter = 'eea10' then k.x * 1000 + k.y end, case when k.gitter = 'mtbq' then k.x * 10 + k.y end
  from portal.raster_feld k
  join private.list_leeres_feld(
    array(select f.x * 1000 + f.y from portal.raster_feld f where f.gitter = 'eea10'),
    array(select f.x * 10 + f.y from portal.raster_feld f where f.gitter = 'mtbq')) l
    on l.gitter = k.gitter and l.x = k.x and l.y = k.y
  where k.gitter in ('eea10', 'mtbq');
  -- Up to 0003 another table held the links of tenants. What is left over goes when this file is applied once more, because to drop
  -- it shuts out readers: not for as long as this transaction takes.
  if to_regclass('portal.sichtbeobachtung_mandant') is not null then
    if current_setting('portal.links_copied', true) = 'yes' then
      delete from portal.mandant_sichtbeobachtung n
      where not exists (
        select from portal.sichtbeobachtung_mandant l
        where l.sichtbeobachtung_id = n.sichtbeobachtung_id and l.mandant_id = n.mandant_id);
      insert into portal.mandant_sichtbeobachtung (mandant_id, sichtbeobachtung_id, gid, exakt, frei)
      select l.mandant_id, l.sichtbeobachtung_id, l.gid, l.exakt, private.is_frei(s.bereich, s.status)
      from portal.sichtbeobachtung_mandant l
      join portal.sichtbeobachtung s on s.id = l.sichtbeobachtung_id
      left join portal.mandant_sichtbeobachtung n using (mandant_id, sichtbeobachtung_id)
      where (n.gid, n.exakt, n.frei) is distinct from (l.gid, l.exakt, private.is_frei(s.bereich, s.status))
      on conflict (sichtbeobachtung_id, mandant_id) do update
      set gid = excluded.gid, exakt = excluded.exakt, frei = excluded.frei;
    else
      drop table portal.sichtbeobachtung_mandant;
      drop index if exists portal.sichtbeobachtung_raster;
    end if;
  end if;
end
$$;
