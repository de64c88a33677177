// What is what in an archive of somebody's own data, for the person themselves.

/** Named only where there is one. */
export const missingFile = 'fehlende-dateien.txt';

export function describeAuskunft(at: Date): string {
  const day = new Intl.DateTimeFormat('de-DE', { dateStyle: 'long', timeStyle: 'short', timeZone: 'Europe/Berlin' }).format(at);
  return `Ihre Daten aus dem Artenportal, Stand ${day} Uhr
${'='.repeat(60)}

Dieses Archiv enthält, was unter Ihrem Konto gespeichert ist (Auskunft und Datenübertragbarkeit nach
Artikel 15 und 20 der Datenschutz-Grundverordnung).

konto.json
  Ihr Konto: Anmeldename, Adresse, Name, Rollen, seit wann es besteht. Dazu, wann Zugangsschlüssel entstanden und zuletzt
  benutzt wurden, ausstehende Links, wann Sie sich aus wie vielen Netzen angemeldet haben, und gezählte falsche Anmeldungen.
  Das Passwort, die Schlüssel und die Netze selbst sind nicht gespeichert, nur Prüfsummen, mit denen niemand etwas anfangen kann;
  sie sind hier nicht enthalten.

sichtbeobachtungen.json
  Alle Ihre Beobachtungen mit allen Feldern, auch die persönlichen, am genauen Ort. lat ist der Hochwert, lon der Rechtswert in
  Metern, im Bezugssystem, das srid nennt (EPSG:25832, ETRS89 / UTM 32N). protokoll: wann die Beobachtung angelegt und geändert
  wurde. quelle und quelle_id: woher sie übernommen wurde. bemerkung_ungekuerzt: eine ältere Bemerkung, die für die Anzeige
  gekürzt werden musste. medien_lizenz: unter welcher Lizenz ihre Fotos und Töne weitergegeben werden; leer: alle Rechte
  vorbehalten, null: wie in konto.json. Namen von Arten sind die allgemeinen; die Nummern und Namen einzelner Portale fehlen.

sichtbeobachtungen.csv
  Dieselben als Tabelle (UTF-8, Kommas), ohne protokoll. Texte, die ein Tabellenprogramm für eine Formel hielte, beginnen hier mit
  einem Hochkomma; in sichtbeobachtungen.json stehen sie, wie sie sind.

dateien/
  Ihre Fotos und Tonaufnahmen, benannt nach der Nummer der Beobachtung und dem Feld, etwa dateien/2000_foto.jpg. Sie wurden beim
  Hochladen verkleinert und von Angaben wie Ort und Kamera befreit; die Originale sind nicht gespeichert.
  ${missingFile} gibt es nur, wenn Dateien nicht in der Ablage lagen: Dort stehen ihre Namen.

qs.json
  Wann Ihre veröffentlichten Beobachtungen welchen Status bekamen. art ist die Nummer der Art.

entscheidungen.json
  Falls Sie Beobachtungen anderer geprüft haben: wann, mit welchem Ergebnis, und die Bemerkung, die dabei steht.

nachrichten.json
  Fragen und Antworten zu Ihren Beobachtungen, und Fragen, die Sie beim Prüfen gestellt haben. von: erfasser oder experte.

Zeiten in den Dateien sind in UTC angegeben, Tage als TT.MM.JJJJ.
`;
}
