CREATE TABLE "portal"."abgleich" (
	"sichtbeobachtung_id" bigint PRIMARY KEY NOT NULL,
	"stelle" bigint NOT NULL,
	"geaendert" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "portal"."abgleich_block" (
	"stelle" bigint NOT NULL,
	"von" bigint NOT NULL,
	"bis" bigint NOT NULL,
	CONSTRAINT "abgleich_block_stelle_von_pk" PRIMARY KEY("stelle","von")
);
--> statement-breakpoint
CREATE TABLE "portal"."abgleich_ehemals" (
	"sichtbeobachtung_id" bigint NOT NULL,
	"mandant_id" integer NOT NULL,
	CONSTRAINT "abgleich_ehemals_sichtbeobachtung_id_mandant_id_pk" PRIMARY KEY("sichtbeobachtung_id","mandant_id")
);
--> statement-breakpoint
CREATE TABLE "portal"."abgleich_verlauf" (
	"nummer" integer PRIMARY KEY NOT NULL,
	"kennung" text NOT NULL,
	"versatz" bigint NOT NULL,
	"beginn" bigint NOT NULL,
	"komplett" bigint NOT NULL,
	"gestartet" timestamp with time zone NOT NULL,
	"ort" text NOT NULL,
	"seit" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "portal"."stand" ADD COLUMN "anzahl_protokoll" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX "abgleich_stelle" ON "portal"."abgleich" USING btree ("stelle","sichtbeobachtung_id");