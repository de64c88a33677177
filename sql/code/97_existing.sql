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
end
$$;
