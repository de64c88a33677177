-- Files to publish (O5): licences of tenants and of media, which files there are, and what made them wrong.
CREATE TABLE "portal"."export_datei" (
	"mandant_id" integer NOT NULL,
	"datei" text NOT NULL,
	"objekt" text NOT NULL,
	"bytes" bigint NOT NULL,
	"anzahl" bigint NOT NULL,
	"sha256" "bytea" NOT NULL,
	"stand" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "export_datei_pk" PRIMARY KEY("mandant_id","datei"),
	CONSTRAINT "export_datei_sha256" CHECK (octet_length("portal"."export_datei"."sha256") = 32)
);
--> statement-breakpoint
CREATE TABLE "portal"."export_lauf" (
	"mandant_id" integer PRIMARY KEY NOT NULL,
	"beendet" timestamp with time zone NOT NULL,
	"fehler" text
);
--> statement-breakpoint
CREATE TABLE "portal"."export_ungueltig" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "portal"."export_ungueltig_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"mandant_id" integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE "portal"."medium_gezeigt" (
	"sichtbeobachtung_id" bigint NOT NULL,
	"nummer" smallint NOT NULL,
	"name" text NOT NULL,
	"lizenz" text NOT NULL,
	"urheber" text,
	CONSTRAINT "medium_gezeigt_pk" PRIMARY KEY("sichtbeobachtung_id","nummer")
);
--> statement-breakpoint
CREATE TABLE "portal"."sperre_export" (
	"id" boolean PRIMARY KEY NOT NULL
);
--> statement-breakpoint
ALTER TABLE "portal"."sichtbeobachtung_gezeigt" ADD COLUMN "geaendert" date DEFAULT (now() at time zone 'Europe/Berlin')::date NOT NULL;--> statement-breakpoint
ALTER TABLE "portal"."mandant" ADD COLUMN "lizenz" text;--> statement-breakpoint
ALTER TABLE "portal"."mandant" ADD COLUMN "herausgeber" text;--> statement-breakpoint
ALTER TABLE "portal"."mandant" ADD COLUMN "kontakt" text;--> statement-breakpoint
ALTER TABLE "portal"."mandant" ADD COLUMN "titel" text;--> statement-breakpoint
ALTER TABLE "portal"."mandant" ADD COLUMN "beschreibung" text;--> statement-breakpoint
ALTER TABLE "portal"."nutzer" ADD COLUMN "medien_lizenz" text;--> statement-breakpoint
ALTER TABLE "portal"."sichtbeobachtung" ADD COLUMN "medien_lizenz" text;--> statement-breakpoint
ALTER TABLE "portal"."export_datei" ADD CONSTRAINT "export_datei_mandant_id_mandant_id_fk" FOREIGN KEY ("mandant_id") REFERENCES "portal"."mandant"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."export_lauf" ADD CONSTRAINT "export_lauf_mandant_id_mandant_id_fk" FOREIGN KEY ("mandant_id") REFERENCES "portal"."mandant"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "export_ungueltig_mandant" ON "portal"."export_ungueltig" USING btree ("mandant_id");--> statement-breakpoint
ALTER TABLE "portal"."mandant" ADD CONSTRAINT "mandant_lizenz" CHECK ("portal"."mandant"."lizenz" in ('CC0-1.0', 'CC-BY-4.0', 'CC-BY-NC-4.0', 'dl-de/by-2-0', 'dl-de/zero-2-0', 'ODbL-1.0'));--> statement-breakpoint
ALTER TABLE "portal"."mandant" ADD CONSTRAINT "mandant_lizenz_angaben" CHECK ("portal"."mandant"."lizenz" is null or num_nonnulls("portal"."mandant"."herausgeber", "portal"."mandant"."kontakt", "portal"."mandant"."titel", "portal"."mandant"."beschreibung") = 4);--> statement-breakpoint
ALTER TABLE "portal"."nutzer" ADD CONSTRAINT "nutzer_medien_lizenz" CHECK ("portal"."nutzer"."medien_lizenz" in ('CC0-1.0', 'CC-BY-4.0', 'CC-BY-NC-4.0'));--> statement-breakpoint
-- Not valid: nobody waits while ten million records are read, none of which has one.
ALTER TABLE "portal"."sichtbeobachtung" ADD CONSTRAINT "sichtbeobachtung_medien_lizenz" CHECK ("portal"."sichtbeobachtung"."medien_lizenz" in ('CC0-1.0', 'CC-BY-4.0', 'CC-BY-NC-4.0', '')) NOT VALID;
