-- Review (O6): experts of tenants (D4.8), what is known of species, the queue, decisions, mails.
CREATE TYPE "portal"."merkmal" AS ENUM('zelle', 'drittel', 'anzahl', 'stadium', 'aktivitaet');--> statement-breakpoint
CREATE TABLE "portal"."mitteilung" (
	"nutzer_id" bigint PRIMARY KEY NOT NULL,
	"haeufigkeit" text DEFAULT 'woechentlich' NOT NULL,
	"abgelehnt" timestamp with time zone,
	CONSTRAINT "mitteilung_haeufigkeit" CHECK ("portal"."mitteilung"."haeufigkeit" in ('sofort', 'taeglich', 'woechentlich', 'nie'))
);
--> statement-breakpoint
CREATE TABLE "portal"."mitteilung_offen" (
	"sichtbeobachtung_id" bigint PRIMARY KEY NOT NULL,
	"nutzer_id" bigint NOT NULL,
	"faellig" timestamp with time zone NOT NULL,
	"mail" uuid
);
--> statement-breakpoint
CREATE TABLE "portal"."nachricht" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "portal"."nachricht_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"sichtbeobachtung_id" bigint NOT NULL,
	"nutzer_id" bigint,
	"text" text NOT NULL,
	"offen" boolean DEFAULT false NOT NULL,
	"zeitpunkt" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "nachricht_text" CHECK (length("portal"."nachricht"."text") between 1 and 4000)
);
--> statement-breakpoint
CREATE TABLE "portal"."sichtbeobachtung_link" (
	"hash" "bytea" PRIMARY KEY NOT NULL,
	"sichtbeobachtung_id" bigint NOT NULL,
	"nutzer_id" bigint NOT NULL,
	"angelegt" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "sichtbeobachtung_link_hash_length" CHECK (octet_length("portal"."sichtbeobachtung_link"."hash") = 32)
);
--> statement-breakpoint
CREATE TABLE "portal"."nutzer_mandant" (
	"nutzer_id" bigint NOT NULL,
	"mandant_id" integer NOT NULL,
	CONSTRAINT "nutzer_mandant_nutzer_id_mandant_id_pk" PRIMARY KEY("nutzer_id","mandant_id")
);
--> statement-breakpoint
CREATE TABLE "portal"."sperre_pruefung" (
	"id" boolean PRIMARY KEY NOT NULL
);
--> statement-breakpoint
CREATE TABLE "portal"."bestaetigung" (
	"sichtbeobachtung_id" bigint PRIMARY KEY NOT NULL,
	"experte_id" bigint,
	"zeitpunkt" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "portal"."entscheidung" (
	"nutzer_id" bigint NOT NULL,
	"schluessel" "bytea" NOT NULL,
	"sichtbeobachtung_id" bigint NOT NULL,
	"anfrage" "bytea" NOT NULL,
	"code" text,
	"zeitpunkt" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "entscheidung_nutzer_id_schluessel_sichtbeobachtung_id_pk" PRIMARY KEY("nutzer_id","schluessel","sichtbeobachtung_id")
);
--> statement-breakpoint
CREATE TABLE "portal"."pruef_lauf" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "portal"."pruef_lauf_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"zeitpunkt" timestamp with time zone DEFAULT now() NOT NULL,
	"anzahl" integer NOT NULL,
	"zurueckgenommen" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "portal"."pruef_zahl" (
	"art" integer NOT NULL,
	"merkmal" "portal"."merkmal" NOT NULL,
	"x" integer NOT NULL,
	"y" integer NOT NULL,
	"meldungen" integer NOT NULL,
	"offene" integer NOT NULL,
	CONSTRAINT "pruef_zahl_pk" PRIMARY KEY("art","merkmal","x","y")
);
--> statement-breakpoint
CREATE TABLE "portal"."pruef_zahl_offen" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "portal"."pruef_zahl_offen_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"art" integer NOT NULL,
	"cell_x" integer NOT NULL,
	"cell_y" integer NOT NULL,
	"datum" date NOT NULL,
	"anzahl" integer NOT NULL,
	"stadium_id" integer,
	"aktivitaet_id" integer,
	"offen" boolean NOT NULL,
	"vorzeichen" smallint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "portal"."pruefgrund" (
	"sichtbeobachtung_id" bigint PRIMARY KEY NOT NULL,
	"gruende" jsonb NOT NULL,
	"codes" text[] NOT NULL,
	"auffaelligkeit" integer NOT NULL,
	"berechnet" timestamp with time zone NOT NULL,
	"nutzer_id" bigint NOT NULL,
	"art" integer NOT NULL,
	"gid" integer NOT NULL,
	"mandanten" integer[] NOT NULL,
	"angelegt" timestamp with time zone NOT NULL,
	"mit_foto" boolean NOT NULL
);
--> statement-breakpoint
CREATE TABLE "portal"."pruefgrund_offen" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "portal"."pruefgrund_offen_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"sichtbeobachtung_id" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "portal"."pruefregel" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "portal"."pruefregel_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"mandant_id" integer,
	"art" integer NOT NULL,
	"von" text,
	"bis" text,
	"anzahl_max" integer,
	"gebiet" geometry(Geometry,4326),
	"zwei_personen" boolean DEFAULT false NOT NULL,
	"automatisch" boolean DEFAULT false NOT NULL,
	CONSTRAINT "pruefregel_art_mandant" UNIQUE NULLS NOT DISTINCT("art","mandant_id"),
	CONSTRAINT "pruefregel_zeit" CHECK (("portal"."pruefregel"."von" is null) = ("portal"."pruefregel"."bis" is null) and "portal"."pruefregel"."von" ~ '^(0[1-9]|1[0-2])-[1-3]$' and "portal"."pruefregel"."bis" ~ '^(0[1-9]|1[0-2])-[1-3]$'),
	CONSTRAINT "pruefregel_anzahl" CHECK ("portal"."pruefregel"."anzahl_max" between 1 and 20000),
	CONSTRAINT "pruefregel_gebiet" CHECK (public.geometrytype("portal"."pruefregel"."gebiet") in ('POLYGON', 'MULTIPOLYGON') and public.st_npoints("portal"."pruefregel"."gebiet") <= 10000 and public.st_isvalid("portal"."pruefregel"."gebiet"))
);
--> statement-breakpoint
ALTER TABLE "portal"."installation" ADD COLUMN "has_pruef_zahl" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "portal"."installation" ADD COLUMN "orte_nach_gruppe" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "portal"."qs" ADD COLUMN "gruende" text[];--> statement-breakpoint
ALTER TABLE "portal"."qs" ADD COLUMN "lauf" integer;--> statement-breakpoint
ALTER TABLE "portal"."mitteilung" ADD CONSTRAINT "mitteilung_nutzer_id_nutzer_id_fk" FOREIGN KEY ("nutzer_id") REFERENCES "portal"."nutzer"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."mitteilung_offen" ADD CONSTRAINT "mitteilung_offen_sichtbeobachtung_id_sichtbeobachtung_id_fk" FOREIGN KEY ("sichtbeobachtung_id") REFERENCES "portal"."sichtbeobachtung"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."mitteilung_offen" ADD CONSTRAINT "mitteilung_offen_nutzer_id_nutzer_id_fk" FOREIGN KEY ("nutzer_id") REFERENCES "portal"."nutzer"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."nachricht" ADD CONSTRAINT "nachricht_sichtbeobachtung_id_sichtbeobachtung_id_fk" FOREIGN KEY ("sichtbeobachtung_id") REFERENCES "portal"."sichtbeobachtung"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."nachricht" ADD CONSTRAINT "nachricht_nutzer_id_nutzer_id_fk" FOREIGN KEY ("nutzer_id") REFERENCES "portal"."nutzer"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."sichtbeobachtung_link" ADD CONSTRAINT "sichtbeobachtung_link_sichtbeobachtung_id_sichtbeobachtung_id_fk" FOREIGN KEY ("sichtbeobachtung_id") REFERENCES "portal"."sichtbeobachtung"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."sichtbeobachtung_link" ADD CONSTRAINT "sichtbeobachtung_link_nutzer_id_nutzer_id_fk" FOREIGN KEY ("nutzer_id") REFERENCES "portal"."nutzer"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."nutzer_mandant" ADD CONSTRAINT "nutzer_mandant_nutzer_id_nutzer_id_fk" FOREIGN KEY ("nutzer_id") REFERENCES "portal"."nutzer"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."nutzer_mandant" ADD CONSTRAINT "nutzer_mandant_mandant_id_mandant_id_fk" FOREIGN KEY ("mandant_id") REFERENCES "portal"."mandant"("id") ON DELETE restrict ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."bestaetigung" ADD CONSTRAINT "bestaetigung_sichtbeobachtung_id_sichtbeobachtung_id_fk" FOREIGN KEY ("sichtbeobachtung_id") REFERENCES "portal"."sichtbeobachtung"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."bestaetigung" ADD CONSTRAINT "bestaetigung_experte_id_nutzer_id_fk" FOREIGN KEY ("experte_id") REFERENCES "portal"."nutzer"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."entscheidung" ADD CONSTRAINT "entscheidung_nutzer_id_nutzer_id_fk" FOREIGN KEY ("nutzer_id") REFERENCES "portal"."nutzer"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."pruefgrund" ADD CONSTRAINT "pruefgrund_sichtbeobachtung_id_sichtbeobachtung_id_fk" FOREIGN KEY ("sichtbeobachtung_id") REFERENCES "portal"."sichtbeobachtung"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."pruefregel" ADD CONSTRAINT "pruefregel_mandant_id_mandant_id_fk" FOREIGN KEY ("mandant_id") REFERENCES "portal"."mandant"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal"."pruefregel" ADD CONSTRAINT "pruefregel_art_art_id_fk" FOREIGN KEY ("art") REFERENCES "portal"."art"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "mitteilung_offen_nutzer" ON "portal"."mitteilung_offen" USING btree ("nutzer_id","mail");--> statement-breakpoint
CREATE INDEX "mitteilung_offen_faellig" ON "portal"."mitteilung_offen" USING btree ("faellig") WHERE "portal"."mitteilung_offen"."mail" is null;--> statement-breakpoint
CREATE INDEX "nachricht_satz" ON "portal"."nachricht" USING btree ("sichtbeobachtung_id","id");--> statement-breakpoint
CREATE INDEX "nachricht_nutzer" ON "portal"."nachricht" USING btree ("nutzer_id","id");--> statement-breakpoint
CREATE INDEX "nachricht_offen" ON "portal"."nachricht" USING btree ("id") WHERE "portal"."nachricht"."offen";--> statement-breakpoint
CREATE INDEX "sichtbeobachtung_link_satz" ON "portal"."sichtbeobachtung_link" USING btree ("sichtbeobachtung_id");--> statement-breakpoint
CREATE INDEX "sichtbeobachtung_link_nutzer" ON "portal"."sichtbeobachtung_link" USING btree ("nutzer_id");--> statement-breakpoint
CREATE INDEX "sichtbeobachtung_link_angelegt" ON "portal"."sichtbeobachtung_link" USING btree ("angelegt");--> statement-breakpoint
CREATE INDEX "nutzer_mandant_mandant" ON "portal"."nutzer_mandant" USING btree ("mandant_id");--> statement-breakpoint
CREATE INDEX "bestaetigung_experte" ON "portal"."bestaetigung" USING btree ("experte_id");--> statement-breakpoint
CREATE INDEX "pruef_zahl_offen_fort" ON "portal"."pruef_zahl_offen" USING btree ("art") WHERE "portal"."pruef_zahl_offen"."offen" and "portal"."pruef_zahl_offen"."vorzeichen" < 0;--> statement-breakpoint
CREATE INDEX "pruefgrund_auffaelligkeit" ON "portal"."pruefgrund" USING btree ("auffaelligkeit" DESC NULLS FIRST,"sichtbeobachtung_id");--> statement-breakpoint
CREATE INDEX "pruefregel_mandant" ON "portal"."pruefregel" USING btree ("mandant_id");--> statement-breakpoint
CREATE INDEX "qs_lauf" ON "portal"."qs" USING btree ("sichtbeobachtung_id","lauf") WHERE "portal"."qs"."lauf" is not null;
--> statement-breakpoint
CREATE TYPE "portal"."zustaendigkeit" AS (
	"gilt" boolean,
	"mandanten" integer[],
	"gids" integer[]
);
--> statement-breakpoint
COMMENT ON TYPE "portal"."zustaendigkeit" IS 'Records an account is in charge of: gilt, it is expert or administrator; mandanten and gids, of these tenants and groups, null for all';
--> statement-breakpoint
ALTER TYPE "portal"."listenfilter" ADD ATTRIBUTE "zustaendig" "portal"."zustaendigkeit";
--> statement-breakpoint
COMMENT ON TYPE "portal"."listenfilter" IS 'A list of sightings: tenant addressed; reader, null for anonymous; zustaendig, records whose true place the reader may see, exempt, these are all; bereich oeffentlich, privat or persoenlich; arts and gids, null for any, empty for none; mandant, the id of a tenant; x1, y1, x2, y2, left, bottom, right and top of a box in EPSG:25832 (metres), edges included; arts_here, the species that the addressed tenant protects; before_id, at most 2^53 - 1; row_limit';
