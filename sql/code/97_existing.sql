-- What a database lacks that had sightings before it had these tables. The triggers are in place already, in this transaction:
-- nobody writes meanwhile.
do $$
begin
  if not exists (select from portal.raster_zelle) then
    perform private.set_raster_zelle();
  end if;
  if not exists (select from portal.sichtbeobachtung_gezeigt) then
    perform private.set_gezeigt_all();
  end if;
  -- Up to 0003 another table held the links of tenants. What is left over goes when this file is applied once more, because to
  -- drop it shuts out readers: not for as long as it takes to copy.
  if to_regclass('portal.sichtbeobachtung_mandant') is not null then
    if exists (select from portal.sichtbeobachtung_mandant) and not exists (select from portal.mandant_sichtbeobachtung) then
      insert into portal.mandant_sichtbeobachtung (mandant_id, sichtbeobachtung_id, gid, exakt, frei)
      select l.mandant_id, l.sichtbeobachtung_id, l.gid, l.exakt, private.is_frei(s.bereich, s.status)
      from portal.sichtbeobachtung_mandant l
      join portal.sichtbeobachtung s on s.id = l.sichtbeobachtung_id;
      analyze portal.mandant_sichtbeobachtung;
    else
      drop table portal.sichtbeobachtung_mandant;
      drop index if exists portal.sichtbeobachtung_raster;
    end if;
  end if;
end
$$;
