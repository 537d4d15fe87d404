// Programs of sharp and jimp: node node_programs.cjs FOLDER sharp|jimp NAME VALUES... reads in.png, writes out.png.
const [folder, tool, name, ...words] = process.argv.slice(2);
const load = (what) => require(require.resolve(what, { paths: [folder] }));
const v = words.map(Number);

async function withSharp() {
  const sharp = load("sharp");
  sharp.concurrency(1);
  const picture = sharp("in.png").removeAlpha();
  const { width, height } = await picture.metadata();
  const coded = async (format, options) => sharp(await picture.toFormat(format, options).toBuffer());
  const box = (n) => Buffer.from(`<svg width="${2 * n}" height="${n}"><rect width="100%" height="100%" rx="9" fill="#e11d48"/></svg>`);
  const programs = {
    blur: () => picture.blur(v[0]),
    linear: () => picture.linear(v[0], v[1]),
    gamma: () => picture.gamma(v[0], 1),
    mozjpeg: () => coded("jpeg", { quality: v[0], mozjpeg: true }),
    pixelate: async () =>
      sharp(await picture.resize(v[0], v[1], { fit: "fill", kernel: "linear" }).png().toBuffer())
        .resize(v[2], v[3], { fit: "fill", kernel: "nearest" }),
    palette: () => coded("png", { palette: true, colours: v[0], dither: 0, effort: 4 }),
    sharpen: () => picture.sharpen({ sigma: v[0], m1: 1, m2: v[1], y2: 40, y3: 40 }),
    modulate: () => picture.modulate({ saturation: v[0], hue: v[1] }),
    grayscale: () => picture.grayscale(),
    composite: () => picture.composite([{ input: box(v[0]), left: Math.round(width / 9), top: Math.round(height / 5) }]),
    crop: async () =>
      sharp(await picture.extract({ left: v[0], top: v[0], width: width - 2 * v[0], height: height - 2 * v[0] }).png().toBuffer())
        .resize(width, height, { fit: "fill" }),
    webp: () => coded("webp", { quality: v[0] }),
    avif: () => coded("avif", { quality: v[0], effort: 2 }),
  };
  await (await programs[name]()).toColourspace("srgb").png().toFile("out.png");
}

async function withJimp() {
  const { Jimp } = load("jimp");
  let picture = await Jimp.read("in.png");
  const programs = {
    blur: () => picture.blur(v[0]),
    contrast: () => picture.contrast(v[0]),
    jpeg: async () => (picture = await Jimp.read(await picture.getBuffer("image/jpeg", { quality: v[0] }))),
    pixelate: () => picture.pixelate(v[0]),
    posterize: () => picture.posterize(v[0]),
    desaturate: () => picture.color([{ apply: "desaturate", params: [v[0]] }]),
    sepia: () => picture.sepia(),
  };
  await programs[name]();
  await picture.write("out.png");
}

(tool === "sharp" ? withSharp : withJimp)().catch((error) => {
  console.error(String(error));
  process.exit(1);
});
