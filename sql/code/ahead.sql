-- What takes long, done before this transaction keeps writers out (locks.sql): existing.sql then writes only what they changed
-- meanwhile.
do $$
begin
  -- Up to 0003 another table held the links of tenants. In an if of its own: the next one can't be planned without the table.
  if to_regclass('portal.sichtbeobachtung_mandant') is null then
    return;
  end if;
  if exists (select from portal.sichtbeobachtung_mandant) and not exists (select from portal.mandant_sichtbeobachtung) then
    insert into portal.mandant_sichtbeobachtung (mandant_id, sichtbeobachtung_id, gid, exakt, frei)
    select l.mandant_id, l.sichtbeobachtung_id, l.gid, l.exakt, s.bereich = 'oeffentlich' and s.status = 'freigegeben'
    from portal.sichtbeobachtung_mandant l
    join portal.sichtbeobachtung s on s.id = l.sichtbeobachtung_id;
    analyze portal.mandant_sichtbeobachtung;
    perform set_config('portal.links_copied', 'yes', true);
  end if;
end
$$;
