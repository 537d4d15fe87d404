# ruff: noqa: E501 (the tables have one program a line)
"""Programs that are command lines: ImageMagick, GraphicsMagick, netpbm, GEGL, G'MIC, libvips, ffmpeg, coders, sharp, jimp.

Names in braces are drawn (:func:`everyday.damage.parameters`): ``v`` the strength, ``n`` rounded, ``i`` = 1 / v, ``w h``
the size, ``dw dh`` the size divided by v, ``x y`` a vector of length v, ``u`` about 1, ``odd`` = 2 n + 1.
"""

from __future__ import annotations

import math
import shutil
import subprocess
from pathlib import Path

from platformdirs import user_cache_path

from everyday.damage import Label, Program, Settings, command

SCRIPT = Path(__file__).with_name("node_programs.cjs")
PACKAGES = ("sharp@0.35.5", "jimp@1.6.1")

SIGMA: Settings = lambda p: {"sigma": p.v}
QUALITY: Settings = lambda p: {"quality": p.n}
LEVELS: Settings = lambda p: {"levels": p.n}
CELL: Settings = lambda p: {"cell": p.n}
OFFSET: Settings = lambda p: {"offset": p.n}
GAIN: Settings = lambda p: {"gain": p.v, "pivot": 127.5}
FACTOR: Settings = lambda p: {"factor": p.v}
NONE: Settings = lambda p: {}
SHIFT: Settings = lambda p: {"shift_x": p.x, "shift_y": p.y}
TURN: Settings = lambda p: {"rotation": -p.v}  # degrees, positive counter-clockwise, as llise gives them
SCALE: Settings = lambda p: {"scale": 100 * (p.v - 1)}  # per cent
CROP: Settings = lambda p: {"scale": 100 * (p.w / (p.w - 2 * p.n) - 1)}


def ff(filters: str) -> str:
    return f"ffmpeg -v error -threads 1 -i in.png -vf '{filters}' -frames:v 1 -pix_fmt rgb24 -y out.png"


def gegl(operation: str) -> str:
    return f"gegl in.png -o out.png -- {operation} crop x=0 y=0 width={{w}} height={{h}}"


def gmic(operation: str) -> str:
    return f"gmic -v 0 -input in.png {operation} -cut 0,255 -round -output out.png"


def net(operation: str) -> str:
    return f"pngtopnm in.png | {operation} | pnmtopng > out.png"


def vips(operation: str) -> str:
    return f"vips {operation} && vips cast t.v out.png uchar"


def im(operation: str) -> str:
    return f"{{im}} in.png {operation} PNG24:out.png"


def gm(operation: str) -> str:
    return f"gm convert in.png {operation} PNG24:out.png"


def video(filters: str) -> str:
    """A frame goes through YUV and comes back as another one."""
    return ff(filters + ",format=rgb24")


BOTH = ((0.35, 0.8), (1.25, 2.6))
UP_DOWN = ((-60, -8), (8, 60))
Line = tuple[str, str, tuple[tuple[float, float], ...], Settings]
# libvips (and sharp) cut the kernel of a blur where it falls below .2: its sigma is less than what was asked for.
KINDS: dict[str, dict[str, list[Line]]] = {
    "blur": {
        "ImageMagick": [("-blur", im("-blur 0x{v}"), ((0.7, 5),), SIGMA), ("-resize", im("-resize {dw}x{dh}! -filter Triangle -resize {w}x{h}!"), ((1.7, 4),), NONE),
                        ("-motion-blur", im("-motion-blur 0x{v}+{angle}"), ((2, 8),), NONE)],
        "GraphicsMagick": [("-gaussian", gm("-gaussian 0x{v}"), ((0.7, 4),), SIGMA)],
        "netpbm": [("pnmsmooth", net("pnmsmooth -width {odd} -height {odd}"), ((1, 4),), NONE), ("pamscale", net("pamscale -xsize {dw} -ysize {dh} | pamscale -xsize {w} -ysize {h} -linear"), ((1.7, 4),), NONE)],
        "GEGL": [("gaussian-blur", gegl("gaussian-blur std-dev-x={v} std-dev-y={v}"), ((0.7, 5),), SIGMA), ("lens-blur", gegl("lens-blur radius={v}"), ((2, 7),), NONE)],
        "G'MIC": [("blur", gmic("-blur {v}"), ((0.7, 5),), SIGMA), ("boxfilter", gmic("-boxfilter {odd}"), ((1, 4),), NONE)],
        "libvips": [("gaussblur", "vips gaussblur in.png out.png {v}", ((0.7, 5),), NONE)],
        "ffmpeg": [("gblur", ff("format=gbrp,gblur=sigma={v}:steps=3"), ((0.7, 5),), SIGMA), ("boxblur", ff("format=gbrp,boxblur={n}:2"), ((1, 4),), NONE)],
        "sharp": [("blur", "sharp blur {v}", ((0.7, 5),), NONE)],
        "jimp": [("blur", "jimp blur {n}", ((1, 6),), NONE)],
    },
    "gaussian_noise": {
        "ImageMagick": [("+noise Gaussian", im("-seed {seed} -attenuate {v} +noise Gaussian"), ((0.2, 1.4),), NONE)],
        "netpbm": [("pamaddnoise", net("pamaddnoise -type=gaussian -sigma1=1 -sigma2={v} -seed={seed}"), ((6, 30),), NONE)],
        "G'MIC": [("noise", gmic("-srand {seed} -noise {v},0"), ((4, 30),), SIGMA)],
        "libvips": [("gaussnoise", vips("gaussnoise n.v {w} {h} --mean 0 --sigma {v} --seed {seed} && vips add in.png n.v t.v"), ((4, 30),), SIGMA)],
        "ffmpeg": [("noise", ff("format=gbrp,noise=alls={n}:all_seed={seed}"), ((12, 60),), NONE)],
    },
    "impulse_noise": {
        "ImageMagick": [("+noise Impulse", im("-seed {seed} -attenuate {v} +noise Impulse"), ((0.2, 2),), NONE)],
        "netpbm": [("pamaddnoise", net("pamaddnoise -type=impulse -tolerance={v} -seed={seed}"), ((0.01, 0.1),), NONE)],
        "G'MIC": [("noise", gmic("-srand {seed} -noise {v},2"), ((1, 10),), NONE)],
    },
    "speckle_noise": {
        "ImageMagick": [("+noise Multiplicative", im("-seed {seed} -attenuate {v} +noise Multiplicative"), ((0.2, 1.5),), NONE)],
        "netpbm": [("pamaddnoise", net("pamaddnoise -type=multiplicative_gaussian -mgsigma={v} -seed={seed}"), ((0.08, 0.4),), NONE)],
        "GEGL": [("noise-rgb correlated", gegl("noise-rgb correlated=true independent=true linear=false gaussian=true red={v} green={v} blue={v} seed={seed}"), ((0.1, 0.5),), NONE)],
        "G'MIC": [("noise Poisson", gmic("-srand {seed} -div {v} -noise 0,3 -mul {v}"), ((0.7, 4),), NONE)],
    },
    "luminance": {
        "ImageMagick": [("-evaluate add", im("-evaluate add $(({n}*257))"), UP_DOWN, OFFSET)],
        "netpbm": [("pamfunc", net("pamfunc -adder={n}"), UP_DOWN, OFFSET)],
        "G'MIC": [("add", gmic("-add {n}"), UP_DOWN, OFFSET)],
        "libvips": [("linear", vips("linear in.png t.v 1 -- {n}"), UP_DOWN, OFFSET)],
        "ffmpeg": [("lutrgb", ff("format=gbrp,lutrgb=r=clip(val+({n})\\,0\\,255):g=clip(val+({n})\\,0\\,255):b=clip(val+({n})\\,0\\,255)"), UP_DOWN, OFFSET)],
        "sharp": [("linear", "sharp linear 1 {n}", UP_DOWN, OFFSET)],
    },
    "contrast": {
        "ImageMagick": [("-brightness-contrast", im("-brightness-contrast 0x{n}"), ((-50, -12), (12, 45)), lambda p: {"gain": math.tan(math.pi / 4 * (1 + p.n / 100)), "pivot": 127.5}),
                        ("-sigmoidal-contrast", im("-sigmoidal-contrast {v}x50%"), ((2, 9),), NONE), ("-gamma", im("-gamma {v}"), BOTH, NONE)],
        "GraphicsMagick": [("-gamma", gm("-gamma {v}"), BOTH, NONE), ("-level", gm("-level {v}%,1,90%"), ((8, 25),), NONE)],
        "netpbm": [("pamfunc", net("pamfunc -multiplier={v}"), BOTH, lambda p: {"gain": p.v, "pivot": 0}), ("pnmgamma", net("pnmgamma -lineartobt709"), ((1, 1.1),), NONE)],
        "GEGL": [("gamma", gegl("gamma value={v}"), BOTH, NONE), ("brightness-contrast", gegl("brightness-contrast contrast={v}"), BOTH, NONE)],
        "G'MIC": [("adjust_colors", gmic("-adjust_colors 0,{n}"), ((-50, -15), (15, 60)), NONE)],
        "libvips": [("gamma", vips("gamma in.png t.v --exponent {v}"), BOTH, NONE)],
        "ffmpeg": [("eq", video("eq=contrast={v}"), BOTH, NONE), ("curves", ff("curves=preset=strong_contrast"), ((1, 1.1),), NONE)],
        "sharp": [("gamma", "sharp gamma {v}", ((1.3, 2.8),), NONE)],
        "jimp": [("contrast", "jimp contrast {v}", ((-0.6, -0.12), (0.12, 0.5)), NONE)],
    },
    "jpeg": {
        "libjpeg-turbo": [("cjpeg", "pngtopnm in.png | cjpeg -quality {n} | djpeg | pnmtopng > out.png", ((5, 80),), QUALITY),
                          ("cjpeg 4:4:4", "pngtopnm in.png | cjpeg -quality {n} -sample 1x1 | djpeg | pnmtopng > out.png", ((5, 80),), QUALITY),
                          ("cjpeg -progressive 4:2:2", "pngtopnm in.png | cjpeg -quality {n} -progressive -sample 2x1 | djpeg -nosmooth | pnmtopng > out.png", ((5, 80),), QUALITY)],
        "ImageMagick": [("-quality", "{im} in.png -quality {n} t.jpg && {im} t.jpg PNG24:out.png", ((5, 85),), QUALITY)],
        "GraphicsMagick": [("-quality", "gm convert in.png -quality {n} t.jpg && gm convert t.jpg PNG24:out.png", ((5, 85),), QUALITY)],
        "libvips": [("jpegsave", "vips jpegsave in.png t.jpg --Q {n} && vips copy t.jpg out.png", ((5, 85),), QUALITY)],
        "ffmpeg": [("mjpeg", "ffmpeg -v error -i in.png -pix_fmt yuvj420p -q:v {n} -y t.jpg && ffmpeg -v error -i t.jpg -pix_fmt rgb24 -y out.png", ((4, 31),), NONE)],
        "mozjpeg": [("sharp", "sharp mozjpeg {n}", ((5, 80),), NONE)],
        "jimp": [("jpeg", "jimp jpeg {n}", ((5, 80),), QUALITY)],
    },
    "jpeg2000": {
        "OpenJPEG": [("opj_compress -r", "opj_compress -i in.png -o t.jp2 -r {v} > log && opj_decompress -i t.jp2 -o out.png > log", ((15, 150),), lambda p: {"rate": 24 / p.v}),
                     ("opj_compress -q", "opj_compress -i in.png -o t.jp2 -q {v} > log && opj_decompress -i t.jp2 -o out.png > log", ((24, 38),), NONE)],
        "ImageMagick": [("jp2", "{im} in.png -quality {n} t.jp2 && {im} t.jp2 PNG24:out.png", ((24, 38),), NONE)],
        "libvips": [("jp2ksave", "vips jp2ksave in.png t.jp2 --Q {n} && vips copy t.jp2 out.png", ((22, 38),), NONE)],
        "netpbm": [("pamtojpeg2k", "pngtopnm in.png | pamtojpeg2k -compression={v} > t.jp2 && jpeg2ktopam t.jp2 | pnmtopng > out.png", ((15, 150),), lambda p: {"rate": 24 / p.v})],
    },
    "pixelation": {
        "ImageMagick": [("-scale", im("-scale {dw}x{dh}! -scale {w}x{h}!"), ((2, 12),), lambda p: {"cell": p.w / p.dw})],
        "netpbm": [("pamscale -nomix", net("pamscale -xsize {dw} -ysize {dh} | pamscale -nomix -xsize {w} -ysize {h}"), ((2, 12),), lambda p: {"cell": p.w / p.dw})],
        "GEGL": [("pixelize", gegl("pixelize size-x={n} size-y={n}"), ((3, 12),), CELL)],
        "G'MIC": [("resize", gmic("-resize {dw},{dh},1,3,2 -resize {w},{h},1,3,1"), ((2, 12),), lambda p: {"cell": p.w / p.dw})],
        "ffmpeg": [("scale", ff("scale={dw}:{dh}:flags=area,scale={w}:{h}:flags=neighbor"), ((2, 12),), lambda p: {"cell": p.w / p.dw})],
        "sharp": [("resize nearest", "sharp pixelate {dw} {dh} {w} {h}", ((2, 12),), lambda p: {"cell": p.w / p.dw})],
        "jimp": [("pixelate", "jimp pixelate {n}", ((3, 12),), CELL)],
    },
    "quantization": {
        "ImageMagick": [("-posterize", im("+dither -posterize {n}"), ((3, 16),), LEVELS), ("-colors", im("+dither -colors {n}"), ((6, 48),), NONE)],
        "GraphicsMagick": [("-colors", gm("+dither -colors {n}"), ((6, 48),), NONE)],
        "netpbm": [("pamdepth", net("pamdepth {n} | pamdepth 255"), ((2, 15),), lambda p: {"levels": p.n + 1}), ("pnmquant", net("pnmquant -nofs -norandom {n} 2> log"), ((6, 48),), NONE)],
        "GEGL": [("posterize", gegl("posterize levels={n}"), ((3, 16),), LEVELS)],
        "G'MIC": [("quantize", gmic("-quantize {n}"), ((3, 16),), LEVELS)],
        "ffmpeg": [("lutrgb", ff("format=gbrp,lutrgb=r=trunc(val/{n})*{n}+{n}/2:g=trunc(val/{n})*{n}+{n}/2:b=trunc(val/{n})*{n}+{n}/2"), ((14, 70),), lambda p: {"levels": math.ceil(256 / p.n)}),
                   ("palettegen", ff("split[a][b];[a]palettegen=max_colors={n}[p];[b][p]paletteuse=dither=none"), ((6, 48),), NONE)],
        "sharp": [("palette", "sharp palette {n}", ((6, 48),), NONE)],
        "jimp": [("posterize", "jimp posterize {n}", ((3, 16),), NONE)],
    },
    "sharpening": {
        "ImageMagick": [("-unsharp", im("-unsharp 0x{u}+{v}+0"), ((0.7, 4),), lambda p: {"amount": p.v, "radius": p.u})],
        "GraphicsMagick": [("-sharpen", gm("-sharpen 0x{v}"), ((0.6, 2),), NONE)],
        "GEGL": [("unsharp-mask", gegl("unsharp-mask std-dev={u} scale={v}"), ((0.7, 4),), lambda p: {"amount": p.v, "radius": p.u})],
        "G'MIC": [("sharpen", gmic("-sharpen {v}"), ((20, 200),), NONE)],
        "libvips": [("sharpen", "vips sharpen in.png out.png --sigma {u} --m2 {v} --y2 40 --y3 40", ((3, 12),), NONE)],
        "ffmpeg": [("unsharp", video("unsharp=5:5:{v}"), ((0.7, 4),), NONE)],
        "sharp": [("sharpen", "sharp sharpen {u} {v}", ((3, 12),), NONE)],
    },
    "saturation": {
        "ImageMagick": [("-modulate", im("-modulate 100,$(({n}))"), ((1, 70), (140, 240)), lambda p: {"factor": p.n / 100}), ("Gray", im("-colorspace Gray"), ((1, 1.1),), lambda p: {"factor": 0})],
        "GraphicsMagick": [("-modulate", gm("-modulate 100,{n}"), ((1, 70), (140, 240)), NONE)],
        "netpbm": [("ppmbrighten", net("ppmbrighten -saturation={n} 2> log"), ((-90, -25), (30, 150)), NONE)],
        "GEGL": [("saturation", gegl("saturation scale={v}"), ((0.05, 0.7), (1.4, 2.4)), FACTOR)],
        "G'MIC": [("adjust_colors", gmic("-adjust_colors 0,0,0,0,{n}"), ((-90, -25), (30, 90)), NONE)],
        "ffmpeg": [("eq", video("eq=saturation={v}"), ((0.05, 0.7), (1.4, 2.6)), FACTOR)],
        "sharp": [("modulate", "sharp modulate {v} 0", ((0.05, 0.7), (1.4, 2.4)), NONE), ("grayscale", "sharp grayscale", ((1, 1.1),), lambda p: {"factor": 0})],
        "jimp": [("desaturate", "jimp desaturate {n}", ((20, 90),), NONE)],
    },
    "color_cast": {
        "ImageMagick": [("-evaluate multiply", im("-channel R -evaluate multiply {v} +channel"), ((0.55, 0.85), (1.15, 1.6)), lambda p: {"red_gain": p.v, "green_gain": 1, "blue_gain": 1})],
        "GraphicsMagick": [("-gamma", gm("-gamma {v},1.0,{i}"), ((1.15, 1.6),), NONE)],
        "netpbm": [("channels", "pngtopnm in.png | pamchannel -tupletype=GRAYSCALE 2 | pamfunc -multiplier={v} > b.pam && pngtopnm in.png | pamchannel 0 1 > rg.pam && pamstack -tupletype=RGB rg.pam b.pam | pamtopng > out.png", ((0.5, 0.85), (1.15, 1.6)), lambda p: {"red_gain": 1, "green_gain": 1, "blue_gain": p.v})],
        "GEGL": [("color-temperature", gegl("color-temperature original-temperature=6500 intended-temperature={n}"), ((2800, 5300), (8000, 12000)), NONE)],
        "libvips": [("linear", vips('linear in.png t.v "{v} 1 {i}" "0 0 0"'), ((0.7, 0.87), (1.15, 1.5)), lambda p: {"red_gain": p.v, "green_gain": 1, "blue_gain": p.i})],
        "ffmpeg": [("colorbalance", ff("colorbalance=rm={v}:bm=-{v}"), ((0.15, 0.6),), NONE), ("colortemperature", ff("colortemperature={n}"), ((2800, 5000), (8500, 14000)), NONE)],
    },
    "chroma_noise": {
        "ImageMagick": [("YCbCr +noise", im("-colorspace YCbCr -channel GB -seed {seed} -attenuate {v} +noise Gaussian +channel -colorspace sRGB"), ((0.3, 1.3),), NONE)],
        "ffmpeg": [("noise", video("format=yuv444p,noise=c1s={n}:c2s={n}:c1_seed={seed}:c2_seed={seed}"), ((15, 60),), NONE)],
        "G'MIC": [("noise of YCbCr", gmic("-srand {seed} -rgb2ycbcr -split c -noise[1,2] {v},0 -append c -ycbcr2rgb"), ((5, 25),), SIGMA)],
    },
    "chroma_blur": {
        "ImageMagick": [("YCbCr -blur", im("-colorspace YCbCr -channel GB -blur 0x{v} +channel -colorspace sRGB"), ((2, 10),), SIGMA)],
        "ffmpeg": [("4:2:0", video("format=yuv420p"), ((1, 1.1),), NONE), ("gblur", video("format=yuv444p,gblur=sigma={v}:planes=6"), ((2, 10),), SIGMA), ("4:1:0", video("format=yuv410p"), ((1, 1.1),), NONE)],
        "G'MIC": [("blur of YCbCr", gmic("-rgb2ycbcr -split c -blur[1,2] {v} -append c -ycbcr2rgb"), ((2, 10),), SIGMA)],
        "libjpeg-turbo": [("cjpeg 4x2", "pngtopnm in.png | cjpeg -quality 98 -sample 4x2,1x1,1x1 | djpeg | pnmtopng > out.png", ((1, 1.1),), NONE)],
    },
    "content": {
        "ImageMagick": [("-annotate", im("-fill white -undercolor black -font DejaVu-Sans -pointsize $((12+{n})) -gravity center -annotate +{n}+{n} 'Sample {n}'"), ((10, 60),), NONE),
                        ("-draw", im("-fill none -stroke red -strokewidth 4 -draw 'circle {n},{n} {n},8'"), ((25, 100),), NONE)],
        "netpbm": [("ppmlabel", net("ppmlabel -x 20 -y {n} -size 30 -colour red -text 'draft {n}'"), ((60, 200),), NONE)],
        "ffmpeg": [("drawbox", ff("drawbox=x={n}:y={n}:w={n}:h=30:color=blue:t=fill"), ((30, 100),), NONE)],
        "sharp": [("composite", "sharp composite {n}", ((30, 90),), NONE)],
    },
    "misalignment": {
        "ImageMagick": [("shift", im("-virtual-pixel edge -distort SRT '0,0 1 0 {x},{y}'"), ((1, 14),), SHIFT), ("rotate", im("-virtual-pixel edge -distort SRT {v}"), ((-3, -0.4), (0.4, 3)), TURN),
                        ("scale", im("-virtual-pixel edge -distort SRT '{v} 0'"), ((0.97, 0.992), (1.008, 1.03)), SCALE), ("crop and resize", im("-shave {n}x{n} +repage -resize {w}x{h}!"), ((2, 8),), CROP)],
        "G'MIC": [("shift", gmic("-shift $(({n})),$(({n}/2)),0,0,1"), ((-12, -2), (2, 12)), lambda p: {"shift_x": p.n, "shift_y": int(p.n / 2)})],
        "GEGL": [("translate", gegl("translate x={x} y={y} sampler=cubic"), ((1, 14),), SHIFT)],
        "libvips": [("affine", "vips affine in.png out.png '1 0 0 1' --odx {x} --ody {y} --oarea '0 0 {w} {h}' --extend copy --interpolate bicubic", ((1, 14),), SHIFT)],
        "ffmpeg": [("crop and scale", ff("crop=iw-2*{n}:ih-2*{n},scale={w}:{h}:flags=bicubic"), ((2, 8),), CROP), ("rotate", ff("rotate={v}*PI/180"), ((-3, -0.4), (0.4, 3)), TURN)],
        "sharp": [("extract and resize", "sharp crop {n}", ((2, 8),), CROP)],
    },
}  # fmt: skip

CODER, MATRIX = (("modern_codec",), ("unknown",)), (("color_matrix",), ("unknown",))
RANGE = (("contrast",), ("contrast", "luminance"), ("color_matrix",))
QUALITIES = ((5, 70),)
Special = tuple[str, str, tuple[tuple[float, float], ...], str, tuple[Label, ...], Settings]
CODERS: dict[str, list[Special]] = {
    "libwebp": [("cwebp", "cwebp -quiet -q {n} in.png -o t.webp && dwebp -quiet t.webp -o out.png", QUALITIES, "webp", CODER, QUALITY)],
    "libavif": [("avifenc", "avifenc -j 1 -s 8 --min {n} --max {n} in.png t.avif > log && avifdec -j 1 t.avif out.png > log", ((25, 58),), "avif", CODER, NONE)],
    "libheif": [("heif-enc", "heif-enc -q {n} in.png -o t.heic > log && heif-convert t.heic out.png > log", QUALITIES, "heic", CODER, QUALITY)],
    "libjxl": [("cjxl", "cjxl --quiet --num_threads 0 -e 4 -d {v} in.png t.jxl && djxl --quiet t.jxl out.png", ((1.5, 12),), "jxl", CODER, NONE)],
    "x264": [("x264", "ffmpeg -v error -i in.png -vf 'pad=ceil(iw/2)*2:ceil(ih/2)*2' -pix_fmt yuv420p -f yuv4mpegpipe -y t.y4m && x264 --quiet --threads 1 --crf {n} -o t.264 --demuxer y4m t.y4m 2> log && ffmpeg -v error -i t.264 -vf crop={w}:{h}:0:0 -pix_fmt rgb24 -y out.png", ((24, 45),), "h264", CODER, NONE)],
    "ffmpeg": [("libx264", "ffmpeg -v error -i in.png -vf 'pad=ceil(iw/2)*2:ceil(ih/2)*2' -c:v libx264 -threads 1 -crf {n} -pix_fmt yuv420p -y t.mp4 && ffmpeg -v error -i t.mp4 -vf crop={w}:{h}:0:0 -pix_fmt rgb24 -y out.png", ((24, 45),), "h264", CODER, NONE),
               ("libx265", "ffmpeg -v error -i in.png -vf 'pad=ceil(iw/2)*2:ceil(ih/2)*2' -c:v libx265 -x265-params log-level=none:pools=1 -crf {n} -pix_fmt yuv420p -y t.mp4 && ffmpeg -v error -i t.mp4 -vf crop={w}:{h}:0:0 -pix_fmt rgb24 -y out.png", ((24, 45),), "h265", CODER, NONE)],
    "sharp": [("webp", "sharp webp {n}", QUALITIES, "webp", CODER, QUALITY), ("avif", "sharp avif {n}", QUALITIES, "avif", CODER, QUALITY)],
    "ImageMagick": [("webp", "{im} in.png -quality {n} t.webp && {im} t.webp PNG24:out.png", QUALITIES, "webp", CODER, QUALITY)],
    "libvips": [("heifsave", "vips heifsave in.png t.heic --Q {n} && vips copy t.heic out.png", QUALITIES, "heic", CODER, QUALITY)],
    "libjpeg-turbo": [("cjpeg twice", "pngtopnm in.png | cjpeg -quality {n} | djpeg | cjpeg -quality 90 | djpeg | pnmtopng > out.png", ((10, 70),), "jpeg twice", (("jpeg",),), QUALITY)],
    "GraphicsMagick": [("jpeg twice", "gm convert in.png -quality {n} t.jpg && gm convert t.jpg -quality 80 s.jpg && gm convert s.jpg PNG24:out.png", ((10, 60),), "jpeg twice", (("jpeg",),), QUALITY)],
}  # fmt: skip

CAUSES: dict[str, list[Special]] = {
    "ffmpeg": [("limited read as full", video("scale=out_range=tv:out_color_matrix=bt709,format=yuv444p,setparams=range=pc,scale=in_range=pc:in_color_matrix=bt709:out_range=pc"), ((1, 1.1),), "range", RANGE, NONE),
               ("full read as limited", video("scale=out_range=pc:out_color_matrix=bt709,format=yuv444p,setparams=range=tv,scale=in_range=tv:in_color_matrix=bt709:out_range=pc"), ((1, 1.1),), "range", RANGE, NONE),
               ("601 read as 709", video("scale=out_color_matrix=bt601:out_range=tv,format=yuv444p,scale=in_color_matrix=bt709:in_range=tv:out_range=pc"), ((1, 1.1),), "601 as 709", MATRIX, NONE),
               ("709 read as 601", video("scale=out_color_matrix=bt709:out_range=tv,format=yuv444p,scale=in_color_matrix=bt601:in_range=tv:out_range=pc"), ((1, 1.1),), "601 as 709", MATRIX, NONE),
               ("hue", video("hue=h={n}"), ((-120, -15), (15, 120)), "hue", MATRIX, NONE), ("shuffleplanes", ff("format=gbrp,shuffleplanes=1:2:0"), ((1, 1.1),), "channels", MATRIX, NONE),
               ("sepia", ff("colorchannelmixer=.393:.769:.189:0:.349:.686:.168:0:.272:.534:.131"), ((1, 1.1),), "sepia", MATRIX, NONE),
               ("4:2:0 moved", video("format=yuv444p,chromashift=cbh=1:crh=1,format=yuv420p"), ((1, 1.1),), "subsampled", (("chroma_blur",), ("unknown",), ("color_matrix",)), NONE)],
    "ImageMagick": [("linear light as sRGB", im("-colorspace RGB -set colorspace sRGB"), ((1, 1.1),), "gamma", (("contrast",),), NONE), ("gamma twice", im("-gamma 2.2"), ((1, 1.1),), "gamma", (("contrast",),), NONE),
                    ("red and blue", im("-separate -swap 0,2 -combine"), ((1, 1.1),), "channels", MATRIX, NONE), ("hue", im("-modulate 100,100,{n}"), ((30, 85), (115, 170)), "hue", MATRIX, NONE), ("-sepia-tone", im("-sepia-tone 80%"), ((1, 1.1),), "sepia", MATRIX, NONE)],
    "netpbm": [("pamchannel", net("pamchannel -tupletype=RGB 2 1 0 | pamtopnm"), ((1, 1.1),), "channels", MATRIX, NONE), ("pamhue", net("pamhue -huechange={n}"), ((15, 150),), "hue", MATRIX, NONE)],
    "GEGL": [("hue-chroma", gegl("hue-chroma hue={n}"), ((-120, -15), (15, 120)), "hue", MATRIX, NONE), ("sepia", gegl("sepia scale=1"), ((1, 1.1),), "sepia", MATRIX, NONE)],
    "sharp": [("hue", "sharp modulate 1 {n}", ((15, 150),), "hue", MATRIX, NONE)],
    "jimp": [("sepia", "jimp sepia", ((1, 1.1),), "sepia", MATRIX, NONE)],
}  # fmt: skip

HELD_OUT = ("painterly", "halftone", "video", "lens", "glow", "ghost", "glitch", "sketch", "warp near", "structure")
"""Families without a name that no training may draw."""

Family = list[tuple[str, str, str, tuple[tuple[float, float], ...]]]
NO_NAME: dict[tuple[str, bool], Family] = {
    ("rank", True): [("ImageMagick", "-statistic Median", im("-statistic Median {odd}x{odd}"), ((1, 3),)), ("G'MIC", "median", gmic("-median {odd}"), ((1, 3),)), ("libvips", "rank", "vips rank in.png out.png {odd} {odd} $(({odd}*{odd}*3/4))", ((1, 2),)),
                     ("GEGL", "median-blur", gegl("median-blur radius={n}"), ((1, 4),)), ("G'MIC", "erode", gmic("-erode {odd}"), ((1, 2),))],
    ("denoised", True): [("G'MIC", "bilateral", gmic("-bilateral {v},30"), ((3, 10),)), ("ImageMagick", "-wavelet-denoise", im("-wavelet-denoise {n}%"), ((6, 20),)), ("ffmpeg", "nlmeans", ff("format=gbrp,nlmeans=s={v}:r=7"), ((6, 20),)), ("GEGL", "snn-mean", gegl("snn-mean radius={n}"), ((3, 8),))],
    ("noise", True): [("ImageMagick", "+noise Laplacian", im("-seed {seed} -attenuate {v} +noise Laplacian"), ((0.5, 2.5),)), ("G'MIC", "noise uniform", gmic("-srand {seed} -noise {v},1"), ((15, 60),)), ("GEGL", "noise-hsv", gegl("noise-hsv hue-distance=20 value-distance=0.2 seed={seed}"), ((1, 1.1),))],
    ("dithered", True): [("ImageMagick", "-ordered-dither", im("-ordered-dither o8x8,{n}"), ((2, 5),)), ("netpbm", "ppmdither", net("ppmdither -red {n} -green {n} -blue {n}"), ((2, 5),)), ("netpbm", "pnmquant -fs", net("pnmquant -fs -norandom {n} 2> log"), ((4, 24),)), ("GEGL", "dither", gegl("dither red-levels={n} green-levels={n} blue-levels={n} dither-method=floyd-steinberg"), ((2, 5),))],
    ("local contrast", True): [("ImageMagick", "-local-contrast", im("-local-contrast 10x{n}%"), ((30, 90),)), ("libvips", "hist_local", "vips hist_local in.png out.png {n} {n} --max-slope 3", ((40, 90),)), ("GEGL", "shadows-highlights", gegl("shadows-highlights shadows={n} highlights=-60"), ((40, 90),))],
    ("warped", False): [("ImageMagick", "-swirl", im("-swirl {n}"), ((-120, -25), (25, 120))), ("GEGL", "ripple", gegl("ripple amplitude={v} period=60"), ((4, 14),)), ("ImageMagick", "-implode", im("-implode {v}"), ((-0.7, -0.15), (0.15, 0.6)))],
    ("reversed", False): [("ImageMagick", "-solarize", im("-solarize {n}%"), ((30, 65),)), ("netpbm", "pnminvert", net("pnminvert"), ((1, 1.1),)), ("GEGL", "value-invert", gegl("value-invert"), ((1, 1.1),)), ("G'MIC", "solarize", gmic("-solarize"), ((1, 1.1),))],
    ("relief", False): [("ImageMagick", "-emboss", im("-emboss 0x{v}"), ((0.6, 2),)), ("GEGL", "emboss", gegl("emboss azimuth={angle} type=bumpmap"), ((1, 1.1),)), ("netpbm", "pamedge", net("pamedge"), ((1, 1.1),))],
    ("vignette", False): [("ffmpeg", "vignette", ff("vignette=angle={v}"), ((0.5, 1.1),)), ("GEGL", "vignette", gegl("vignette radius={v} softness=0.8"), ((0.7, 1.2),))],
    ("spread", True): [("ImageMagick", "-spread", im("-seed {seed} -spread {n}"), ((1, 5),)), ("netpbm", "ppmspread", net("ppmspread {n} -randomseed={seed}"), ((2, 8),)), ("GEGL", "noise-spread", gegl("noise-spread amount-x={n} amount-y={n} seed={seed}"), ((2, 8),))],
    ("painterly", True): [("ImageMagick", "-paint", im("-paint {n}"), ((1, 4),)), ("GEGL", "oilify", gegl("oilify mask-radius={n}"), ((2, 6),)), ("ImageMagick", "-kuwahara", im("-kuwahara {n}"), ((1, 4),)), ("netpbm", "pamoil", net("pamoil -n {n}"), ((1, 3),)), ("GEGL", "waterpixels", gegl("waterpixels size={n}"), ((8, 20),))],
    ("structure", True): [("G'MIC", "smooth", gmic("-smooth {v}"), ((30, 150),)), ("GEGL", "mean-curvature-blur", gegl("mean-curvature-blur iterations={n}"), ((4, 20),)), ("GEGL", "domain-transform", gegl("domain-transform edge-preservation=0.7 spatial-factor={v}"), ((20, 50),))],
    ("halftone", False): [("GEGL", "newsprint", gegl("newsprint period={v}"), ((4, 12),)), ("ImageMagick", "halftone", im("-ordered-dither h6x6a"), ((1, 1.1),)), ("GEGL", "mosaic", gegl("mosaic tile-size={v} seed={seed}"), ((8, 22),))],
    ("video", True): [("GEGL", "video-degradation", gegl("video-degradation pattern=striped"), ((1, 1.1),)), ("ffmpeg", "interlaced", ff("format=gbrp,geq=r=r(X+mod(Y\\,2)*{n}\\,Y):g=g(X+mod(Y\\,2)*{n}\\,Y):b=b(X+mod(Y\\,2)*{n}\\,Y)"), ((2, 8),)), ("netpbm", "ppmtv", net("ppmtv {v}"), ((0.5, 0.85),))],
    ("lens", True): [("ffmpeg", "rgbashift", ff("rgbashift=rh={n}:bh=-{n}:edge=smear"), ((1, 5),)), ("ffmpeg", "lenscorrection", ff("lenscorrection=k1={v}:k2=0"), ((-0.2, -0.04), (0.04, 0.2))), ("GEGL", "lens-distortion", gegl("lens-distortion main={n}"), ((-40, -10), (10, 40)))],
    ("glow", True): [("GEGL", "softglow", gegl("softglow glow-radius=10 brightness={v}"), ((0.3, 0.8),)), ("GEGL", "bloom", gegl("bloom strength={n}"), ((30, 90),)), ("GEGL", "lens-flare", gegl("lens-flare pos-x=0.4"), ((1, 1.1),))],
    ("ghost", True): [("ImageMagick", "ghost", im("( +clone -roll +{n}+3 ) -compose blend -define compose:args=30 -composite").replace("(", "'('").replace(")", "')'"), ((5, 20),)), ("G'MIC", "ghost", gmic("+shift {n},2,0,0,1 -mul[0] 0.7 -mul[1] 0.3 -add"), ((5, 20),))],
    ("glitch", False): [("netpbm", "ppmshift", net("ppmshift {n} -seed={seed}"), ((4, 20),)), ("GEGL", "wind", gegl("wind threshold=10 strength={n} seed={seed}"), ((20, 60),)), ("GEGL", "tile-paper", gegl("tile-paper tile-width=60 tile-height=60 move-rate={n} seed={seed}"), ((10, 30),))],
    ("sketch", False): [("ImageMagick", "-charcoal", im("-charcoal {n}"), ((1, 3),)), ("GEGL", "photocopy", gegl("photocopy"), ((1, 1.1),)), ("GEGL", "cartoon", gegl("cartoon mask-radius={v}"), ((4, 12),)), ("GEGL", "edge-neon", gegl("edge-neon radius={v}"), ((2, 6),))],
}  # fmt: skip


def programs() -> list[Program]:
    """All programs that are command lines."""
    found = []
    for kind, tools in KINDS.items():
        expected: tuple[Label, ...] = ((kind,),)
        if kind == "misalignment":
            expected = ((kind,), ("blur", kind))
        for tool, lines in tools.items():
            found += [
                _program(tool, name, line, (kind,), ranges, settings, expected)
                for name, line, ranges, settings in lines
            ]
    for group, table in (("coder", CODERS), ("colour", CAUSES)):
        for tool, rows in table.items():
            for name, line, ranges, family, labels, settings in rows:
                found.append(
                    _program(tool, name, line, labels[0], ranges, settings, labels, group=group, family=family)
                )
    for (family, near), rows in NO_NAME.items():
        for tool, name, line, ranges in rows:
            found.append(
                _program(
                    tool,
                    name,
                    line,
                    ("unknown",),
                    ranges,
                    NONE,
                    (("unknown",),),
                    group="no_name",
                    family=family,
                    near=near,
                    held_out=family in HELD_OUT,
                )
            )
    return found


def _program(tool: str, name: str, line: str, kinds: Label, ranges: tuple, settings: Settings, expected: tuple, **more: object) -> Program:  # fmt: skip
    if line.startswith(("sharp ", "jimp ")):
        run, needs = command(f"node '{SCRIPT}' '{node_folder()}' {line}")
        if not (node_folder() / "node_modules" / line.split()[0]).exists():
            needs = (*needs, line.split()[0])
    else:
        run, needs = command(line)
    return Program(f"{tool} {name}", tool, kinds, run, tuple(ranges), settings, expected, needs, **more)  # type: ignore[arg-type]


def node_folder() -> Path:
    """Folder of the packages of npm, which are installed there once."""
    folder = user_cache_path("llise") / "everyday-node"
    if not folder.exists() and shutil.which("npm"):
        folder.mkdir(parents=True)
        subprocess.run(
            ["npm", "install", "--silent", "--no-fund", "--no-audit", "--prefix", str(folder), *PACKAGES], cwd=folder,
            capture_output=True,
        )  # fmt: skip
    return folder
