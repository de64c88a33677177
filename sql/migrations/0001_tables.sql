CREATE SCHEMA "portal";
--> statement-breakpoint
CREATE TYPE "portal"."audit" AS ENUM('CREATE', 'UPDATE', 'DELETE');--> statement-breakpoint
CREATE TYPE "portal"."bereich" AS ENUM('privat', 'oeffentlich');--> statement-breakpoint
CREATE TYPE "portal"."ergebnis" AS ENUM('laeuft', 'erfolgreich', 'unveraendert', 'fehlgeschlagen', 'abgebrochen');--> statement-breakpoint
CREATE TYPE "portal"."rolle" AS ENUM('expert', 'administrator');--> statement-breakpoint
CREATE TYPE "portal"."status" AS ENUM('pruefung', 'hinweis', 'freigegeben', 'abgelehnt');--> statement-breakpoint
CREATE TABLE "portal"."aktivitaet" (
	"id" integer PRIMARY KEY NOT NULL,
	"name" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "portal"."art" (
	"id" integer PRIMARY KEY NOT NULL,
	"eu_guid" text,
	"gid" integer NOT NULL,
	"name_wissenschaftlich" text NOT NULL,
	"name_deutsch" text NOT NULL,
	"bluetenmerkmale" text,
	"bluetezeit" text,
	"fortpflanzung" text,
	"gefaehrdung" text,
	"lebensraum" text,
	"nahrung" text,
	"oekologie" text,
	"quelle" text,
	"ueberregionale_verbreitung" text,
	"schutzwuerdigkeit_und_schutzstatus" text,
	"vegetative_merkmale" text,
	"verhalten" text
);
--> statement-breakpoint
CREATE TABLE "portal"."art_foto" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "portal"."art_foto_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"art" integer NOT NULL,
	"uri" text,
	"autor" text,
	"lizenz" text,
	"bildunterschrift" text
);
--> statement-breakpoint
CREATE TABLE "portal"."art_mandant" (
	"mandant_id" integer NOT NULL,
	"art" integer NOT NULL,
	"art_id" text NOT NULL,
	"name_wissenschaftlich" text,
	"name_deutsch" text,
	"sensibel" boolean DEFAULT false NOT NULL,
	"regionale_verbreitung" text,
	"legacy_regional_art_id" integer,
	"titel_json" text,
	"art_json" text,
	CONSTRAINT "art_mandant_mandant_id_art_pk" PRIMARY KEY("mandant_id","art")
);
--> statement-breakpoint
CREATE TABLE "portal"."artengruppe" (
	"id" integer PRIMARY KEY NOT NULL,
	"name_deutsch" text NOT NULL,
	"is_animal" boolean NOT NULL,
	"legacy_regional_artengruppe_id" integer
);
--> statement-breakpoint
CREATE TABLE "portal"."grenzlauf" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "portal"."grenzlauf_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"begonnen" timestamp with time zone DEFAULT now() NOT NULL,
	"beendet" timestamp with time zone,
	"quelle" text NOT NULL,
	"erzwungen" boolean NOT NULL,
	"ergebnis" "portal"."ergebnis" DEFAULT 'laeuft' NOT NULL,
	"mandanten" integer DEFAULT 0 NOT NULL,
	"zugeordnet" integer DEFAULT 0 NOT NULL,
	"maskiert" integer DEFAULT 0 NOT NULL,
	"uebergangen" integer DEFAULT 0 NOT NULL,
	"grund" text,
	CONSTRAINT "grenzlauf_beendet" CHECK (("portal"."grenzlauf"."ergebnis" = 'laeuft') = ("portal"."grenzlauf"."beendet" is null)),
	CONSTRAINT "grenzlauf_grund" CHECK (("portal"."grenzlauf"."ergebnis" in ('fehlgeschlagen', 'abgebrochen')) = ("portal"."grenzlauf"."grund" is not null))
);
--> statement-breakpoint
CREATE TABLE "portal"."grenzlauf_gebiet" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "portal"."grenzlauf_gebiet_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"grenzlauf_id" bigint NOT NULL,
	"mandant_id" integer NOT NULL,
	"gebiet" geometry(MultiPolygon,25832) NOT NULL
);
--> statement-breakpoint
CREATE TABLE "portal"."installation" (
	"id" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"guid_namespace" uuid NOT NULL,
	"x_min" integer DEFAULT 0 NOT NULL,
	"y_min" integer DEFAULT 5000000 NOT NULL,
	"x_max" integer DEFAULT 1200000 NOT NULL,
	"y_max" integer DEFAULT 6300000 NOT NULL,
	"code_release" integer[],
	"code_hash" text,
	"gis_hash" text,
	CONSTRAINT "installation_one_row" CHECK ("portal"."installation"."id"),
	CONSTRAINT "installation_area" CHECK ("portal"."installation"."x_min" < "portal"."installation"."x_max" and "portal"."installation"."y_min" < "portal"."installation"."y_max")
);
--> statement-breakpoint
CREATE TABLE "portal"."mandant" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "portal"."mandant_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"kuerzel" text NOT NULL,
	"name" text NOT NULL,
	"schluessel" text,
	"domains" text[] NOT NULL,
	"boundary" geometry(MultiPolygon,25832) NOT NULL,
	"quelle" text DEFAULT 'SQL' NOT NULL,
	"stand" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "mandant_schluessel" UNIQUE("schluessel"),
	CONSTRAINT "mandant_kuerzel_filled" CHECK ("portal"."mandant"."kuerzel" <> ''),
	CONSTRAINT "mandant_boundary_valid" CHECK (public.st_isvalid("portal"."mandant"."boundary"))
);
--> statement-breakpoint
CREATE TABLE "portal"."mandant_domain" (
	"domain" text PRIMARY KEY NOT NULL,
	"mandant_id" integer NOT NULL,
	"position" integer NOT NULL,
	CONSTRAINT "mandant_domain_lower" CHECK ("portal"."mandant_domain"."domain" = lower("portal"."mandant_domain"."domain") and "portal"."mandant_domain"."domain" <> '')
);
--> statement-breakpoint
CREATE TABLE "portal"."mandant_entwurf" (
	"mandant_id" integer PRIMARY KEY NOT NULL,
	"alt" geometry(MultiPolygon,25832) NOT NULL,
	"boundary" geometry(MultiPolygon,25832) NOT NULL,
	"protokoll_id" bigint,
	"sichtbeobachtung_id" bigint[]
);
--> statement-breakpoint
CREATE TABLE "portal"."mandant_entwurf_teil" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "portal"."mandant_entwurf_teil_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"mandant_id" integer NOT NULL,
	"teil" geometry(Polygon,25832) NOT NULL
);
--> statement-breakpoint
CREATE TABLE "portal"."mandant_entwurf_zelle" (
	"mandant_id" integer NOT NULL,
	"cell_x" integer NOT NULL,
	"cell_y" integer NOT NULL,
	"ganz" boolean NOT NULL,
	CONSTRAINT "mandant_entwurf_zelle_mandant_id_cell_x_cell_y_pk" PRIMARY KEY("mandant_id","cell_x","cell_y")
);
--> statement-breakpoint
CREATE TABLE "portal"."mandant_teil" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "portal"."mandant_teil_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"mandant_id" integer NOT NULL,
	"teil" geometry(Polygon,25832) NOT NULL
);
--> statement-breakpoint
CREATE TABLE "portal"."mandant_zelle" (
	"cell_x" integer NOT NULL,
	"cell_y" integer NOT NULL,
	"mandant_id" integer NOT NULL,
	"ganz" boolean NOT NULL,
	CONSTRAINT "mandant_zelle_cell_x_cell_y_mandant_id_pk" PRIMARY KEY("cell_x","cell_y","mandant_id")
);
--> statement-breakpoint
CREATE TABLE "portal"."medium_entfernt" (
	"name" text PRIMARY KEY NOT NULL,
	"zeitpunkt" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "portal"."nutzer" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "portal"."nutzer_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"loginname" text NOT NULL,
	"loginname_key" text NOT NULL,
	"email" text,
	"email_key" text,
	"vorname" text,
	"nachname" text,
	"anonymisiert" smallint DEFAULT 0 NOT NULL,
	"status" smallint DEFAULT 1 NOT NULL,
	"password_hash" text,
	"portal_name" text,
	"portal_url" text,
	"angelegt" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "nutzer_loginname_filled" CHECK ("portal"."nutzer"."loginname_key" <> ''),
	CONSTRAINT "nutzer_anonymisiert" CHECK ("portal"."nutzer"."anonymisiert" in (0, 1)),
	CONSTRAINT "nutzer_status" CHECK ("portal"."nutzer"."status" in (0, 1))
);
--> statement-breakpoint
CREATE TABLE "portal"."nutzer_artengruppe" (
	"nutzer_id" bigint NOT NULL,
	"gid" integer NOT NULL,
	CONSTRAINT "nutzer_artengruppe_nutzer_id_gid_pk" PRIMARY KEY("nutzer_id","gid")
);
--> statement-breakpoint
CREATE TABLE "portal"."nutzer_link" (
	"nutzer_id" bigint PRIMARY KEY NOT NULL,
	"hash" "bytea" NOT NULL,
	"angelegt" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "portal"."nutzer_reservierung" (
	"loginname_key" text PRIMARY KEY NOT NULL,
	"angelegt" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "portal"."nutzer_rolle" (
	"nutzer_id" bigint NOT NULL,
	"rolle" "portal"."rolle" NOT NULL,
	CONSTRAINT "nutzer_rolle_nutzer_id_rolle_pk" PRIMARY KEY("nutzer_id","rolle")
);
--> statement-breakpoint
CREATE TABLE "portal"."protokoll" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "portal"."protokoll_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"audit" "portal"."audit" NOT NULL,
	"sichtbeobachtung_id" bigint NOT NULL,
	"zeitpunkt" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "portal"."qs" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "portal"."qs_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"sichtbeobachtung_id" bigint NOT NULL,
	"nutzer_id" bigint NOT NULL,
	"art" integer NOT NULL,
	"datum_beobachtung" date NOT NULL,
	"status" "portal"."status" NOT NULL,
	"experte_id" bigint,
	"zeitpunkt" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "portal"."raster_zelle" (
	"cell_x" integer NOT NULL,
	"cell_y" integer NOT NULL,
	"cell" geometry(Polygon,25832) NOT NULL,
	CONSTRAINT "raster_zelle_cell_x_cell_y_pk" PRIMARY KEY("cell_x","cell_y")
);
--> statement-breakpoint
CREATE TABLE "portal"."sichtbeobachtung" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "portal"."sichtbeobachtung_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"guid" uuid NOT NULL,
	"nutzer_id" bigint NOT NULL,
	"art" integer NOT NULL,
	"anzahl" integer DEFAULT 1 NOT NULL,
	"sensibel" boolean DEFAULT false NOT NULL,
	"datum" date NOT NULL,
	"bereich" "portal"."bereich" DEFAULT 'privat' NOT NULL,
	"status" "portal"."status" DEFAULT 'pruefung' NOT NULL,
	"point" geometry(Point,25832) NOT NULL,
	"stadium_id" integer,
	"aktivitaet_id" integer,
	"bemerkung" text,
	"bemerkung_experte" text,
	"experte_id" bigint,
	"foto" text,
	"foto_2" text,
	"foto_3" text,
	"biotopfoto" text,
	"audio" text,
	"angelegt" timestamp with time zone DEFAULT now() NOT NULL,
	"gid" integer NOT NULL,
	"jahr" smallint GENERATED ALWAYS AS (extract(year from datum)) STORED NOT NULL,
	"cell_x" integer NOT NULL,
	"cell_y" integer NOT NULL,
	"raster_point" geometry(Point,25832) NOT NULL,
	"shown_point" geometry(Point,25832) NOT NULL,
	"sensible_art" boolean NOT NULL,
	"schutz" smallint NOT NULL,
	"kopf_json" text,
	CONSTRAINT "sichtbeobachtung_anzahl" CHECK ("portal"."sichtbeobachtung"."anzahl" between 1 and 20000),
	CONSTRAINT "sichtbeobachtung_datum" CHECK ("portal"."sichtbeobachtung"."datum" >= date '1800-01-01'),
	CONSTRAINT "sichtbeobachtung_schutz" CHECK ("portal"."sichtbeobachtung"."schutz" in (0, 1, 2) and ("portal"."sichtbeobachtung"."schutz" = 2 or not ("portal"."sichtbeobachtung"."sensibel" or "portal"."sichtbeobachtung"."sensible_art"))),
	CONSTRAINT "sichtbeobachtung_private_unreleased" CHECK ("portal"."sichtbeobachtung"."bereich" = 'oeffentlich' or "portal"."sichtbeobachtung"."status" <> 'freigegeben'),
	CONSTRAINT "sichtbeobachtung_foto_name" CHECK ("portal"."sichtbeobachtung"."foto" ~ '^[0-9a-f]{32}[.][a-z0-9]{2,4}$'),
	CONSTRAINT "sichtbeobachtung_foto_2_name" CHECK ("portal"."sichtbeobachtung"."foto_2" ~ '^[0-9a-f]{32}[.][a-z0-9]{2,4}$'),
	CONSTRAINT "sichtbeobachtung_foto_3_name" CHECK ("portal"."sichtbeobachtung"."foto_3" ~ '^[0-9a-f]{32}[.][a-z0-9]{2,4}$'),
	CONSTRAINT "sichtbeobachtung_biotopfoto_name" CHECK ("portal"."sichtbeobachtung"."biotopfoto" ~ '^[0-9a-f]{32}[.][a-z0-9]{2,4}$'),
	CONSTRAINT "sichtbeobachtung_audio_name" CHECK ("portal"."sichtbeobachtung"."audio" ~ '^[0-9a-f]{32}[.][a-z0-9]{2,4}$')
);
--> statement-breakpoint
CREATE TABLE "portal"."sichtbeobachtung_exakt" (
	"id" bigint PRIMARY KEY NOT NULL,
	"bemerkung" text,
	"place" geometry(Point,25832) NOT NULL
);
--> statement-breakpoint
CREATE TABLE "portal"."sichtbeobachtung_gezeigt" (
	"id" bigint PRIMARY KEY NOT NULL,
	"guid" uuid NOT NULL,
	"art" integer NOT NULL,
	"anzahl" integer NOT NULL,
	"datum" date NOT NULL,
	"jahr" integer GENERATED ALWAYS AS (extract(year from datum)) STORED NOT NULL,
	"stadium_id" integer,
	"aktivitaet_id" integer,
	"bemerkung" text,
	"unschaerfe_m" integer NOT NULL,
	"cell_x" integer NOT NULL,
	"cell_y" integer NOT NULL,
	"place" geometry(Point,25832) NOT NULL
);
--> statement-breakpoint
CREATE TABLE "portal"."sichtbeobachtung_mandant" (
	"mandant_id" integer NOT NULL,
	"sichtbeobachtung_id" bigint NOT NULL,
	"gid" integer NOT NULL,
	"exakt" boolean NOT NULL,
	CONSTRAINT "sichtbeobachtung_mandant_pk" PRIMARY KEY("mandant_id","sichtbeobachtung_id")
);
--> statement-breakpoint
CREATE TABLE "portal"."stadium" (
	"id" integer PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"phaenogramm" boolean DEFAULT true NOT NULL
);
--> statement-breakpoint
CREATE TABLE "portal"."stand" (
	"id" bigint PRIMARY KEY NOT NULL,
	"anzahl" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "portal"."token" (
	"hash" "bytea" PRIMARY KEY NOT NULL,
	"nutzer_id" bigint NOT NULL,
	"angelegt" timestamp with time zone DEFAULT now() NOT NULL,
	"genutzt" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "token_hash_length" CHECK (octet_length("portal"."token"."hash") = 32)
);
--> statement-breakpoint
CREATE TABLE "portal"."versuch" (
	"zweck" text NOT NULL,
	"schluessel" "bytea" NOT NULL,
	"seit" timestamp with time zone DEFAULT now() NOT NULL,
	"anzahl" integer NOT NULL,
	CONSTRAINT "versuch_zweck_schluessel_pk" PRIMARY KEY("zweck","schluessel")
);
--> statement-breakpoint
CREATE TABLE "portal"."verwechslung" (
	"art" integer PRIMARY KEY NOT NULL,
	"beschreibung" text
);
--> statement-breakpoint
CREATE TABLE "portal"."verwechslung_art" (
	"art" integer NOT NULL,
	"aid" integer NOT NULL,
	CONSTRAINT "verwechslung_art_art_aid_pk" PRIMARY KEY("art","aid")
);
--> statement-breakpoint
CREATE TABLE "portal"."verwechslung_foto" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "portal"."verwechslung_foto_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"art" integer NOT NULL,
	"uri" text,
	"autor" text,
	"lizenz" text,
	"bildunterschrift" text
);
--> statement-breakpoint
ALTER TABLE "portal"."art" ADD CONSTRAINT "art_gid_artengruppe_id_fk" FOREIGN KEY ("gid") REFERENCES "portal"."artengruppe"("id") ON DELETE restrict ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."art_foto" ADD CONSTRAINT "art_foto_art_art_id_fk" FOREIGN KEY ("art") REFERENCES "portal"."art"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."art_mandant" ADD CONSTRAINT "art_mandant_mandant_id_mandant_id_fk" FOREIGN KEY ("mandant_id") REFERENCES "portal"."mandant"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."art_mandant" ADD CONSTRAINT "art_mandant_art_art_id_fk" FOREIGN KEY ("art") REFERENCES "portal"."art"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."grenzlauf_gebiet" ADD CONSTRAINT "grenzlauf_gebiet_grenzlauf_id_grenzlauf_id_fk" FOREIGN KEY ("grenzlauf_id") REFERENCES "portal"."grenzlauf"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."grenzlauf_gebiet" ADD CONSTRAINT "grenzlauf_gebiet_mandant_id_mandant_id_fk" FOREIGN KEY ("mandant_id") REFERENCES "portal"."mandant"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."mandant_domain" ADD CONSTRAINT "mandant_domain_mandant_id_mandant_id_fk" FOREIGN KEY ("mandant_id") REFERENCES "portal"."mandant"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."mandant_entwurf" ADD CONSTRAINT "mandant_entwurf_mandant_id_mandant_id_fk" FOREIGN KEY ("mandant_id") REFERENCES "portal"."mandant"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."mandant_entwurf_teil" ADD CONSTRAINT "mandant_entwurf_teil_mandant_id_mandant_entwurf_mandant_id_fk" FOREIGN KEY ("mandant_id") REFERENCES "portal"."mandant_entwurf"("mandant_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."mandant_entwurf_zelle" ADD CONSTRAINT "mandant_entwurf_zelle_mandant_id_mandant_entwurf_mandant_id_fk" FOREIGN KEY ("mandant_id") REFERENCES "portal"."mandant_entwurf"("mandant_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."mandant_teil" ADD CONSTRAINT "mandant_teil_mandant_id_mandant_id_fk" FOREIGN KEY ("mandant_id") REFERENCES "portal"."mandant"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."mandant_zelle" ADD CONSTRAINT "mandant_zelle_mandant_id_mandant_id_fk" FOREIGN KEY ("mandant_id") REFERENCES "portal"."mandant"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."nutzer_artengruppe" ADD CONSTRAINT "nutzer_artengruppe_nutzer_id_nutzer_id_fk" FOREIGN KEY ("nutzer_id") REFERENCES "portal"."nutzer"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."nutzer_artengruppe" ADD CONSTRAINT "nutzer_artengruppe_gid_artengruppe_id_fk" FOREIGN KEY ("gid") REFERENCES "portal"."artengruppe"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."nutzer_link" ADD CONSTRAINT "nutzer_link_nutzer_id_nutzer_id_fk" FOREIGN KEY ("nutzer_id") REFERENCES "portal"."nutzer"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."nutzer_rolle" ADD CONSTRAINT "nutzer_rolle_nutzer_id_nutzer_id_fk" FOREIGN KEY ("nutzer_id") REFERENCES "portal"."nutzer"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."sichtbeobachtung" ADD CONSTRAINT "sichtbeobachtung_nutzer_id" FOREIGN KEY ("nutzer_id") REFERENCES "portal"."nutzer"("id") ON DELETE restrict ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."sichtbeobachtung" ADD CONSTRAINT "sichtbeobachtung_art" FOREIGN KEY ("art") REFERENCES "portal"."art"("id") ON DELETE restrict ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."sichtbeobachtung" ADD CONSTRAINT "sichtbeobachtung_stadium_id" FOREIGN KEY ("stadium_id") REFERENCES "portal"."stadium"("id") ON DELETE restrict ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."sichtbeobachtung" ADD CONSTRAINT "sichtbeobachtung_aktivitaet_id" FOREIGN KEY ("aktivitaet_id") REFERENCES "portal"."aktivitaet"("id") ON DELETE restrict ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."sichtbeobachtung" ADD CONSTRAINT "sichtbeobachtung_experte_id" FOREIGN KEY ("experte_id") REFERENCES "portal"."nutzer"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."sichtbeobachtung_mandant" ADD CONSTRAINT "sichtbeobachtung_mandant_mandant_id_mandant_id_fk" FOREIGN KEY ("mandant_id") REFERENCES "portal"."mandant"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."sichtbeobachtung_mandant" ADD CONSTRAINT "sichtbeobachtung_mandant_sichtbeobachtung_id" FOREIGN KEY ("sichtbeobachtung_id") REFERENCES "portal"."sichtbeobachtung"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."token" ADD CONSTRAINT "token_nutzer_id_nutzer_id_fk" FOREIGN KEY ("nutzer_id") REFERENCES "portal"."nutzer"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."verwechslung" ADD CONSTRAINT "verwechslung_art_art_id_fk" FOREIGN KEY ("art") REFERENCES "portal"."art"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."verwechslung_art" ADD CONSTRAINT "verwechslung_art_art_art_id_fk" FOREIGN KEY ("art") REFERENCES "portal"."art"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."verwechslung_art" ADD CONSTRAINT "verwechslung_art_aid_art_id_fk" FOREIGN KEY ("aid") REFERENCES "portal"."art"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."verwechslung_foto" ADD CONSTRAINT "verwechslung_foto_art_art_id_fk" FOREIGN KEY ("art") REFERENCES "portal"."art"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "art_gid" ON "portal"."art" USING btree ("gid");--> statement-breakpoint
CREATE INDEX "art_eu_guid" ON "portal"."art" USING btree ("eu_guid");--> statement-breakpoint
CREATE INDEX "art_name_deutsch" ON "portal"."art" USING btree (lower("name_deutsch") text_pattern_ops);--> statement-breakpoint
CREATE INDEX "art_name_wissenschaftlich" ON "portal"."art" USING btree (lower("name_wissenschaftlich") text_pattern_ops);--> statement-breakpoint
CREATE INDEX "art_foto_art" ON "portal"."art_foto" USING btree ("art");--> statement-breakpoint
CREATE UNIQUE INDEX "art_mandant_art_id" ON "portal"."art_mandant" USING btree ("mandant_id","art_id");--> statement-breakpoint
CREATE INDEX "art_mandant_legacy" ON "portal"."art_mandant" USING btree ("mandant_id","legacy_regional_art_id");--> statement-breakpoint
CREATE INDEX "art_mandant_name_deutsch" ON "portal"."art_mandant" USING btree ("mandant_id",lower("name_deutsch") text_pattern_ops);--> statement-breakpoint
CREATE INDEX "art_mandant_name_wissenschaftlich" ON "portal"."art_mandant" USING btree ("mandant_id",lower("name_wissenschaftlich") text_pattern_ops);--> statement-breakpoint
CREATE INDEX "art_mandant_sensibel" ON "portal"."art_mandant" USING btree ("mandant_id","art") WHERE "portal"."art_mandant"."sensibel";--> statement-breakpoint
CREATE INDEX "art_mandant_art" ON "portal"."art_mandant" USING btree ("art","sensibel");--> statement-breakpoint
CREATE INDEX "grenzlauf_gebiet_grenzlauf" ON "portal"."grenzlauf_gebiet" USING btree ("grenzlauf_id","mandant_id");--> statement-breakpoint
CREATE INDEX "grenzlauf_gebiet_mandant" ON "portal"."grenzlauf_gebiet" USING btree ("mandant_id");--> statement-breakpoint
CREATE UNIQUE INDEX "mandant_kuerzel" ON "portal"."mandant" USING btree (lower("kuerzel"));--> statement-breakpoint
CREATE INDEX "mandant_domain_mandant" ON "portal"."mandant_domain" USING btree ("mandant_id");--> statement-breakpoint
CREATE INDEX "mandant_entwurf_teil_mandant" ON "portal"."mandant_entwurf_teil" USING btree ("mandant_id");--> statement-breakpoint
CREATE INDEX "mandant_teil_teil" ON "portal"."mandant_teil" USING gist ("teil");--> statement-breakpoint
CREATE INDEX "mandant_teil_mandant" ON "portal"."mandant_teil" USING btree ("mandant_id");--> statement-breakpoint
CREATE INDEX "mandant_zelle_mandant" ON "portal"."mandant_zelle" USING btree ("mandant_id");--> statement-breakpoint
CREATE UNIQUE INDEX "nutzer_loginname_key" ON "portal"."nutzer" USING btree ("loginname_key");--> statement-breakpoint
CREATE UNIQUE INDEX "nutzer_email_key" ON "portal"."nutzer" USING btree ("email_key");--> statement-breakpoint
CREATE INDEX "nutzer_artengruppe_gid" ON "portal"."nutzer_artengruppe" USING btree ("gid");--> statement-breakpoint
CREATE UNIQUE INDEX "nutzer_link_hash" ON "portal"."nutzer_link" USING btree ("hash");--> statement-breakpoint
CREATE INDEX "protokoll_zeitpunkt" ON "portal"."protokoll" USING btree ("zeitpunkt","id");--> statement-breakpoint
CREATE INDEX "protokoll_sichtbeobachtung" ON "portal"."protokoll" USING btree ("sichtbeobachtung_id");--> statement-breakpoint
CREATE INDEX "qs_zeitpunkt" ON "portal"."qs" USING btree ("zeitpunkt","id");--> statement-breakpoint
CREATE INDEX "qs_nutzer" ON "portal"."qs" USING btree ("nutzer_id","id");--> statement-breakpoint
CREATE INDEX "qs_status" ON "portal"."qs" USING btree ("status","id");--> statement-breakpoint
CREATE INDEX "raster_zelle_cell" ON "portal"."raster_zelle" USING gist ("cell");--> statement-breakpoint
CREATE UNIQUE INDEX "sichtbeobachtung_doppelt" ON "portal"."sichtbeobachtung" USING btree ("nutzer_id","art","datum",round(public.st_x("point") * 1000),round(public.st_y("point") * 1000));--> statement-breakpoint
CREATE INDEX "sichtbeobachtung_neu" ON "portal"."sichtbeobachtung" USING btree ("id") WHERE "portal"."sichtbeobachtung"."bereich" = 'oeffentlich';--> statement-breakpoint
CREATE INDEX "sichtbeobachtung_shown" ON "portal"."sichtbeobachtung" USING gist ("shown_point","datum","id") WHERE "portal"."sichtbeobachtung"."bereich" = 'oeffentlich' and "portal"."sichtbeobachtung"."status" = 'freigegeben';--> statement-breakpoint
CREATE INDEX "sichtbeobachtung_shown_unreleased" ON "portal"."sichtbeobachtung" USING gist ("shown_point","id") WHERE "portal"."sichtbeobachtung"."bereich" = 'oeffentlich' and "portal"."sichtbeobachtung"."status" <> 'freigegeben';--> statement-breakpoint
CREATE INDEX "sichtbeobachtung_raster" ON "portal"."sichtbeobachtung" USING gist ("raster_point","id") WHERE "portal"."sichtbeobachtung"."bereich" = 'oeffentlich' and "portal"."sichtbeobachtung"."status" = 'freigegeben' and "portal"."sichtbeobachtung"."schutz" = 1;--> statement-breakpoint
CREATE INDEX "sichtbeobachtung_datum" ON "portal"."sichtbeobachtung" USING gist ("datum","id") WHERE "portal"."sichtbeobachtung"."bereich" = 'oeffentlich' and "portal"."sichtbeobachtung"."status" = 'freigegeben';--> statement-breakpoint
CREATE INDEX "sichtbeobachtung_art" ON "portal"."sichtbeobachtung" USING btree ("art","id");--> statement-breakpoint
CREATE INDEX "sichtbeobachtung_art_jahr" ON "portal"."sichtbeobachtung" USING btree ("art","jahr","id") WHERE "portal"."sichtbeobachtung"."bereich" = 'oeffentlich';--> statement-breakpoint
CREATE INDEX "sichtbeobachtung_gruppe" ON "portal"."sichtbeobachtung" USING btree ("gid","id") WHERE "portal"."sichtbeobachtung"."bereich" = 'oeffentlich';--> statement-breakpoint
CREATE INDEX "sichtbeobachtung_jahr" ON "portal"."sichtbeobachtung" USING btree ("jahr","id") WHERE "portal"."sichtbeobachtung"."bereich" = 'oeffentlich';--> statement-breakpoint
CREATE INDEX "sichtbeobachtung_status" ON "portal"."sichtbeobachtung" USING btree ("status","id") WHERE "portal"."sichtbeobachtung"."bereich" = 'oeffentlich';--> statement-breakpoint
CREATE INDEX "sichtbeobachtung_nutzer" ON "portal"."sichtbeobachtung" USING btree ("nutzer_id","id");--> statement-breakpoint
CREATE INDEX "sichtbeobachtung_zelle" ON "portal"."sichtbeobachtung" USING btree ("cell_x","cell_y");--> statement-breakpoint
CREATE INDEX "sichtbeobachtung_stadium" ON "portal"."sichtbeobachtung" USING btree ("stadium_id") WHERE "portal"."sichtbeobachtung"."stadium_id" is not null;--> statement-breakpoint
CREATE INDEX "sichtbeobachtung_aktivitaet" ON "portal"."sichtbeobachtung" USING btree ("aktivitaet_id") WHERE "portal"."sichtbeobachtung"."aktivitaet_id" is not null;--> statement-breakpoint
CREATE INDEX "sichtbeobachtung_experte" ON "portal"."sichtbeobachtung" USING btree ("experte_id") WHERE "portal"."sichtbeobachtung"."experte_id" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "sichtbeobachtung_foto" ON "portal"."sichtbeobachtung" USING btree ("foto") WHERE "portal"."sichtbeobachtung"."foto" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "sichtbeobachtung_foto_2" ON "portal"."sichtbeobachtung" USING btree ("foto_2") WHERE "portal"."sichtbeobachtung"."foto_2" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "sichtbeobachtung_foto_3" ON "portal"."sichtbeobachtung" USING btree ("foto_3") WHERE "portal"."sichtbeobachtung"."foto_3" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "sichtbeobachtung_biotopfoto" ON "portal"."sichtbeobachtung" USING btree ("biotopfoto") WHERE "portal"."sichtbeobachtung"."biotopfoto" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "sichtbeobachtung_audio" ON "portal"."sichtbeobachtung" USING btree ("audio") WHERE "portal"."sichtbeobachtung"."audio" is not null;--> statement-breakpoint
CREATE INDEX "sichtbeobachtung_gezeigt_place" ON "portal"."sichtbeobachtung_gezeigt" USING gist ("place");--> statement-breakpoint
CREATE INDEX "sichtbeobachtung_gezeigt_art" ON "portal"."sichtbeobachtung_gezeigt" USING btree ("art","datum");--> statement-breakpoint
CREATE INDEX "sichtbeobachtung_gezeigt_zelle" ON "portal"."sichtbeobachtung_gezeigt" USING btree ("cell_x","cell_y");--> statement-breakpoint
CREATE INDEX "sichtbeobachtung_mandant_gruppe" ON "portal"."sichtbeobachtung_mandant" USING btree ("mandant_id","gid","sichtbeobachtung_id");--> statement-breakpoint
CREATE INDEX "sichtbeobachtung_mandant_sichtbeobachtung" ON "portal"."sichtbeobachtung_mandant" USING btree ("sichtbeobachtung_id");--> statement-breakpoint
CREATE INDEX "token_nutzer" ON "portal"."token" USING btree ("nutzer_id");--> statement-breakpoint
CREATE INDEX "versuch_seit" ON "portal"."versuch" USING btree ("seit");--> statement-breakpoint
CREATE INDEX "verwechslung_art_aid" ON "portal"."verwechslung_art" USING btree ("aid");--> statement-breakpoint
CREATE INDEX "verwechslung_foto_art" ON "portal"."verwechslung_foto" USING btree ("art");