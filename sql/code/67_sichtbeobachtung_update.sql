-- Editing, publishing, reviewing and deleting (api-v2 States and transitions, D3). The record is locked before rights are
-- looked at, so that an author's edit and an expert's release can't cross.

-- What a reader may do to a record, as the record is now.
--   author   edit and publish: the owner, unless it is released
--   review   status and expert's remark: experts within their groups and administrators, on published records of others
--   delete   the author, and administrators on any published record
create or replace function private.get_recht(sichtbeobachtung portal.sichtbeobachtung, reader bigint)
  returns table (author boolean, review boolean, delete boolean)
  language plpgsql
  stable
  rows 1
as $$
declare
  v_administrator boolean := private.has_rolle(reader, 'administrator');
  v_published boolean := sichtbeobachtung.bereich = 'oeffentlich';
begin
  author := sichtbeobachtung.nutzer_id = reader and sichtbeobachtung.status <> 'freigegeben';
  -- Nobody releases their own record (D3.3).
  review := v_published and sichtbeobachtung.nutzer_id <> reader
    and (v_administrator or private.has_rolle(reader, 'expert') and private.is_expert_for(reader, sichtbeobachtung.gid));
  delete := author or (v_published and v_administrator);
  return next;
end
$$;

-- Changes a sighting: the author's edit or publication, or the expert's review.
--   tenant    the addressed tenant, which must define a species that is set anew
--   reader    who asks
--   fields    names of the fields that were sent; the values of all others are ignored
--   lat, lon  northing and easting in the unit of srid; both or neither in fields
--   others    as in api.create_sichtbeobachtung; null clears bemerkung, stadium_id, aktivitaet_id and the files
-- returns     names of files that the record no longer has
-- errors      NFUND unknown id; NRCHT not permitted, nothing is changed (D2.5, D3.5); ARTUN, STDUN, AKTUN, WERTB, GBTAU,
--             GBIET, DATUM; DOPPL the change would make it equal to another record (detail = its id)
create or replace function api.update_sichtbeobachtung(
  tenant integer, reader bigint, id bigint, fields portal.kurztexte, art integer, lat float8, lon float8, srid integer,
  anzahl integer, sensibel boolean, datum date, bereich portal.kurztext, bemerkung portal.bemerkung, stadium_id integer,
  aktivitaet_id integer, status portal.kurztext, foto portal.kurztext, foto_2 portal.kurztext, foto_3 portal.kurztext,
  biotopfoto portal.kurztext, audio portal.kurztext)
  returns text[]
  language plpgsql
  volatile
as $$
#variable_conflict use_column
declare
  v_record portal.sichtbeobachtung;
  v_author boolean;
  v_review boolean;
  v_existing bigint;
begin
  -- Before the row, in the order of everyone who takes both.
  perform private.require_catalogue_lock(exclusive => false);
  select s.* into v_record from portal.sichtbeobachtung s where s.id = update_sichtbeobachtung.id for no key update;
  if not found then
    raise exception 'no such sighting' using errcode = 'NFUND';
  end if;
  select r.author, r.review into strict v_author, v_review from private.get_recht(v_record, reader) r;

  if v_review then
    if not fields <@ '{status,bemerkung}' then
      raise exception 'experts change status and remark only' using errcode = 'NRCHT';
    end if;
    update portal.sichtbeobachtung s
    set status = case when 'status' = any (fields) then update_sichtbeobachtung.status::portal.status else s.status end,
      -- Deciding the same again leaves the one who decided: the QS log names nobody else.
      experte_id = case when 'status' <> all (fields) or s.status = update_sichtbeobachtung.status::portal.status then s.experte_id
        when update_sichtbeobachtung.status in ('freigegeben', 'abgelehnt') then reader end,
      bemerkung_experte = case when 'bemerkung' = any (fields) then update_sichtbeobachtung.bemerkung else s.bemerkung_experte end
    where s.id = v_record.id;
    return '{}';
  end if;

  if not v_author or 'status' = any (fields) or (v_record.bereich = 'oeffentlich' and not fields <@ '{bereich}') then
    raise exception 'not permitted' using errcode = 'NRCHT';
  end if;

  perform private.require_reference(
    tenant,
    case when 'art' = any (fields) then update_sichtbeobachtung.art end,
    case when 'stadium_id' = any (fields) then update_sichtbeobachtung.stadium_id end,
    case when 'aktivitaet_id' = any (fields) then update_sichtbeobachtung.aktivitaet_id end);
  if 'art' = any (fields) then
    v_record.art := update_sichtbeobachtung.art;
  end if;
  if 'lat' = any (fields) then
    v_record.point := private.to_point(lat, lon, srid);
  end if;
  if 'datum' = any (fields) then
    v_record.datum := coalesce(update_sichtbeobachtung.datum, (now() at time zone 'Europe/Berlin')::date);
  end if;
  begin
    update portal.sichtbeobachtung s
    set art = v_record.art, point = v_record.point, datum = v_record.datum,
      anzahl = case when 'anzahl' = any (fields) then update_sichtbeobachtung.anzahl else s.anzahl end,
      sensibel = case when 'sensibel' = any (fields) then update_sichtbeobachtung.sensibel else s.sensibel end,
      bereich = case when 'bereich' = any (fields) then update_sichtbeobachtung.bereich::portal.bereich else s.bereich end,
      bemerkung = case when 'bemerkung' = any (fields) then update_sichtbeobachtung.bemerkung else s.bemerkung end,
      stadium_id = case when 'stadium_id' = any (fields) then update_sichtbeobachtung.stadium_id else s.stadium_id end,
      aktivitaet_id = case when 'aktivitaet_id' = any (fields) then update_sichtbeobachtung.aktivitaet_id else s.aktivitaet_id end,
      foto = case when 'foto' = any (fields) then update_sichtbeobachtung.foto else s.foto end,
      foto_2 = case when 'foto_2' = any (fields) then update_sichtbeobachtung.foto_2 else s.foto_2 end,
      foto_3 = case when 'foto_3' = any (fields) then update_sichtbeobachtung.foto_3 else s.foto_3 end,
      biotopfoto = case when 'biotopfoto' = any (fields) then update_sichtbeobachtung.biotopfoto else s.biotopfoto end,
      audio = case when 'audio' = any (fields) then update_sichtbeobachtung.audio else s.audio end
    where s.id = v_record.id;
  exception when unique_violation then
    v_existing := private.get_doppelt(v_record.nutzer_id, v_record.art, v_record.datum, v_record.point);
    if v_existing is null then
      raise exception 'deleted meanwhile, try again' using errcode = '40001';
    end if;
    raise exception 'stored already' using errcode = 'DOPPL', detail = v_existing;
  end;
  return private.list_medium_removed(v_record, (select s from portal.sichtbeobachtung s where s.id = v_record.id));
end
$$;
comment on function api.update_sichtbeobachtung(integer, bigint, bigint, portal.kurztexte, integer, float8, float8, integer, integer, boolean, date, portal.kurztext, portal.bemerkung, integer, integer, portal.kurztext, portal.kurztext, portal.kurztext, portal.kurztext, portal.kurztext, portal.kurztext) is
  'Changes the named fields of a sighting as its author, or reviews it as expert or administrator; returns files it no longer has';

-- returns  names of the files that it had
-- errors   NFUND unknown id; NRCHT not permitted
create or replace function api.delete_sichtbeobachtung(reader bigint, id bigint)
  returns text[]
  language plpgsql
  volatile
as $$
#variable_conflict use_column
declare
  v_record portal.sichtbeobachtung;
begin
  perform private.require_catalogue_lock(exclusive => false);
  select s.* into v_record from portal.sichtbeobachtung s where s.id = delete_sichtbeobachtung.id for update;
  if not found then
    raise exception 'no such sighting' using errcode = 'NFUND';
  end if;
  if not (select r.delete from private.get_recht(v_record, reader) r) then
    raise exception 'not permitted' using errcode = 'NRCHT';
  end if;
  delete from portal.sichtbeobachtung s where s.id = v_record.id;
  return private.list_medium_removed(v_record, null);
end
$$;
comment on function api.delete_sichtbeobachtung(bigint, bigint) is
  'Deletes a sighting as its author, unless it is released, or as administrator when it is published; returns the files it had';
