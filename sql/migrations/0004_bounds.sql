-- What api functions take as text: a parameter of one of these types is refused before any work is done on it. Lengths in bytes,
-- because those are known without looking at the text.
CREATE DOMAIN "portal"."kurztext" AS text CONSTRAINT "kurztext_laenge" CHECK (octet_length(value) <= 2000);--> statement-breakpoint
CREATE DOMAIN "portal"."bemerkung" AS text CONSTRAINT "bemerkung_laenge" CHECK (octet_length(value) <= 16000 and length(value) <= 4000);--> statement-breakpoint
CREATE DOMAIN "portal"."kurztexte" AS text[] CONSTRAINT "kurztexte_laenge" CHECK (cardinality(value) <= 1000 and octet_length(array_to_string(value, '')) <= 100000);--> statement-breakpoint
-- GeoJSON of a boundary, or many sightings at once: the commands of operators only
CREATE DOMAIN "portal"."dokument" AS text CONSTRAINT "dokument_laenge" CHECK (octet_length(value) <= 67108864);--> statement-breakpoint
CREATE TABLE "portal"."nutzer_netz" (
	"nutzer_id" bigint NOT NULL,
	"netz" "bytea" NOT NULL,
	"zuletzt" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "nutzer_netz_nutzer_id_netz_pk" PRIMARY KEY("nutzer_id","netz")
);
--> statement-breakpoint
CREATE TABLE "portal"."sperre_katalog" (
	"id" boolean PRIMARY KEY NOT NULL
);
--> statement-breakpoint
CREATE TABLE "portal"."sperre_konto" (
	"id" boolean PRIMARY KEY NOT NULL
);
--> statement-breakpoint
CREATE TABLE "portal"."bemerkung_gekuerzt" (
	"sichtbeobachtung_id" bigint PRIMARY KEY NOT NULL,
	"bemerkung" text,
	"bemerkung_experte" text
);
--> statement-breakpoint
-- Before the constraint, and so that nothing is lost.
INSERT INTO "portal"."bemerkung_gekuerzt"
SELECT s.id, s.bemerkung, s.bemerkung_experte FROM "portal"."sichtbeobachtung" s
WHERE octet_length(s.bemerkung) > 4000 AND length(s.bemerkung) > 4000
	OR octet_length(s.bemerkung_experte) > 4000 AND length(s.bemerkung_experte) > 4000;
--> statement-breakpoint
UPDATE "portal"."sichtbeobachtung" s
SET bemerkung = CASE WHEN length(s.bemerkung) > 4000 THEN left(s.bemerkung, 3999) || '…' ELSE s.bemerkung END,
	bemerkung_experte = CASE WHEN length(s.bemerkung_experte) > 4000 THEN left(s.bemerkung_experte, 3999) || '…' ELSE s.bemerkung_experte END
FROM "portal"."bemerkung_gekuerzt" g WHERE s.id = g.sichtbeobachtung_id;
--> statement-breakpoint
ALTER TABLE "portal"."grenzlauf" ADD COLUMN "verbindung" integer;--> statement-breakpoint
ALTER TABLE "portal"."grenzlauf" ADD COLUMN "verbunden" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "portal"."nutzer_netz" ADD CONSTRAINT "nutzer_netz_nutzer_id_nutzer_id_fk" FOREIGN KEY ("nutzer_id") REFERENCES "portal"."nutzer"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."mandant" ADD COLUMN "bemerkung_geschuetzter" text DEFAULT 'zeigen' NOT NULL;--> statement-breakpoint
ALTER TABLE "portal"."mandant" ADD CONSTRAINT "mandant_bemerkung_geschuetzter" CHECK ("portal"."mandant"."bemerkung_geschuetzter" in ('zeigen', 'verbergen'));--> statement-breakpoint
-- Not valid: nobody waits while ten million records are read; those that were too long are shortened already.
ALTER TABLE "portal"."sichtbeobachtung"
	ADD CONSTRAINT "sichtbeobachtung_bemerkung_laenge" CHECK (length("portal"."sichtbeobachtung"."bemerkung") <= 4000) NOT VALID,
	ADD CONSTRAINT "sichtbeobachtung_bemerkung_experte_laenge" CHECK (length("portal"."sichtbeobachtung"."bemerkung_experte") <= 4000) NOT VALID;
