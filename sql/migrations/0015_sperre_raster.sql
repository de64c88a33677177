CREATE TABLE "portal"."sperre_raster" (
	"id" boolean PRIMARY KEY NOT NULL
);
