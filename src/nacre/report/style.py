"""How every page looks: the one home of colours and rules. Two palettes, one for light screens and paper, one for dark.

Text colours reach a contrast of 4.5 to 1 on every background they stand on; marks in drawings reach 3 to 1 (tested).
"""

from __future__ import annotations

STEPS = 8  # shades on either side of zero in a heat map

LIGHT = {
    "back": "#faf9f6",
    "card": "#ffffff",
    "ink": "#1a1d22",
    "soft": "#545a64",
    "line": "#dcd9d1",
    "link": "#1b4f8f",
    "real": "#7c8fa6",
    "made": "#c2410c",
    "warn": "#6d3200",
    "warn-back": "#fff1dc",
    "warn-line": "#d98a2b",
    "good": "#14532d",
    "good-back": "#e3f4e8",
    "bad": "#8a1212",
    "bad-back": "#fde6e4",
}
DARK = {
    "back": "#131519",
    "card": "#1b1e23",
    "ink": "#eceae5",
    "soft": "#aab0ba",
    "line": "#3a3f48",
    "link": "#8dbbf8",
    "real": "#74869d",
    "made": "#fb923c",
    "warn": "#ffdcae",
    "warn-back": "#38270f",
    "warn-line": "#b27a2a",
    "good": "#a7e8bd",
    "good-back": "#12321f",
    "bad": "#ffc2bd",
    "bad-back": "#431715",
}
# Neutral, halfway and full, below and above zero: orange and blue stay apart for every common kind of colour blindness.
_SHADES_LIGHT = ("#f1efea", ("#f0b26b", "#a34700"), ("#8db3e2", "#1d4288"))
_SHADES_DARK = ("#262a31", ("#9a5a1c", "#ffb469"), ("#3a63a8", "#a9cdff"))

_RULES = """
*{box-sizing:border-box}
html{scroll-behavior:smooth;-webkit-text-size-adjust:100%}
body{margin:0;background:var(--back);color:var(--ink);
font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,"Liberation Sans",sans-serif}
main,header,footer,.banner p{max-width:1160px;margin:0 auto;padding-left:20px;padding-right:20px}
.banner{background:var(--warn-back);color:var(--warn);border-bottom:2px solid var(--warn-line)}
.banner p{padding-top:10px;padding-bottom:10px;max-width:1160px}
.banner.plain{background:var(--good-back);color:var(--good);border-color:var(--good)}
.banner.bad{background:var(--bad-back);color:var(--bad);border-color:var(--bad)}
header{padding-top:34px}
h1{font-size:clamp(1.6rem,1.2rem + 1.8vw,2.3rem);line-height:1.15;letter-spacing:-.015em;margin:0 0 .5rem}
h2{font-size:1.4rem;line-height:1.25;letter-spacing:-.01em;margin:0 0 .4rem}
h3{font-size:1.05rem;line-height:1.35;margin:1.6rem 0 .3rem;overflow-wrap:anywhere}
.tile h3,.head h3,.two>div>h3:first-child{margin-top:0}.lead+h3{margin-top:1rem}.head h3,.tile h3{margin-bottom:0}
p,ul,ol{margin:.4rem 0;max-width:74ch}li{margin:.25rem 0}
section.part{padding-top:36px;margin-top:36px;border-top:1px solid var(--line)}
.lead{font-size:1.06rem;color:var(--soft)}
.soft{color:var(--soft)}.small{font-size:.86rem}
a{color:var(--link)}
a:focus-visible,summary:focus-visible,.scroll:focus-visible{outline:3px solid var(--link);outline-offset:2px;
border-radius:3px}
.skip{position:absolute;left:-9999px;top:0;background:var(--card);padding:10px 16px;z-index:9}.skip:focus{left:8px}
header .lead{max-width:none}
header .short{font-size:1.06rem;margin:.8rem 0}
nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:4px 20px;padding:0;margin:18px 0 0;max-width:none}
.chip{display:inline-block;border-radius:99px;padding:2px 12px;font-size:.86rem;font-weight:600;border:1px solid;
background:var(--warn-back);color:var(--warn)}
.chip.good{background:var(--good-back);color:var(--good)}.chip.bad{background:var(--bad-back);color:var(--bad)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(300px,100%),1fr));gap:16px;margin:18px 0 0}
.tile,.card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:16px 18px;min-width:0}
.tile{border-top:4px solid var(--made)}.tile.bad{border-top-color:var(--bad)}
.tile h3{font-size:.86rem;font-weight:600;color:var(--soft)}
.tile .big{font-size:1.9rem;line-height:1.2;font-weight:650;font-variant-numeric:tabular-nums;margin:.25rem 0 0}
.tile .who{font-weight:600;overflow-wrap:anywhere;margin:0 0 .35rem}
.tile p{font-size:.9rem}
.tile{display:flex;flex-direction:column}
.tile ol{font-size:.86rem;color:var(--soft);padding:8px 0 0;margin:auto 0 0;border-top:1px solid var(--line);
list-style:none;max-width:none}
.tile p.soft{padding-bottom:10px}
.tile li span{white-space:nowrap}
.tile li{display:flex;justify-content:space-between;gap:12px;overflow-wrap:anywhere;font-variant-numeric:tabular-nums}
.grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(340px,100%),1fr));gap:16px;align-items:start;
margin:16px 0}
.two{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(420px,100%),1fr));gap:8px 48px;
align-items:start;margin-top:22px}
.two .scroll:first-child,.two h3:first-child{margin-top:0}
.maps{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(330px,100%),1fr));gap:16px;margin:12px 0}
figure{margin:0;min-width:0}figcaption{font-weight:600;margin-bottom:6px}
.head{display:flex;flex-wrap:wrap;justify-content:space-between;gap:0 12px;align-items:baseline;margin-bottom:8px}
.head h3{min-width:0}.head span{font-size:.84rem;white-space:nowrap;color:var(--soft)}
.foot{font-size:.84rem;margin:8px 0 0;color:var(--soft);font-variant-numeric:tabular-nums}
.key{display:flex;gap:6px 20px;flex-wrap:wrap;margin:12px 0;font-size:.92rem;padding:0;list-style:none;max-width:none}
.key li{margin:0}.key i{display:inline-block;width:18px;height:11px;border-radius:2px;margin-right:7px}
.key .real{background:var(--real)}.key .made{background:var(--made)}.key .tickmark{width:3px;height:15px;
background:var(--ink);vertical-align:-2px}.key .base{background:none;border-left:2px dotted var(--soft);height:15px;
width:3px;border-radius:0;vertical-align:-2px}
.key .whisker{height:2px;background:var(--ink);vertical-align:4px}
.scroll{overflow-x:auto;margin:14px 0;max-width:100%}
table{border-collapse:collapse;font-size:.92rem;font-variant-numeric:tabular-nums;min-width:min(100%,420px)}
caption{text-align:left;font-weight:600;padding:0 0 8px}
th,td{padding:7px 18px 7px 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--line)}
thead th{color:var(--soft);font-weight:600;font-size:.84rem;vertical-align:bottom;border-bottom:1.5px solid var(--soft)}
tbody th{font-weight:500;overflow-wrap:anywhere;min-width:130px;max-width:44ch}
td{overflow-wrap:anywhere}td.n,th.n{text-align:right}td.n,td.k{white-space:nowrap}
td.t{min-width:190px;max-width:64ch}td.bar{min-width:190px;padding-right:0;vertical-align:middle}
tbody tr:last-child>*{border-bottom-color:var(--soft)}
code{font:.92em ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace;overflow-wrap:anywhere}
details{margin:14px 0;border:1px solid var(--line);border-radius:10px;background:var(--card)}
summary{cursor:pointer;padding:11px 16px;font-weight:600;color:var(--link)}
details>.in{padding:0 16px 8px}
svg{display:block;width:100%;height:auto;font:11px system-ui,-apple-system,"Segoe UI",Roboto,Arial,"Liberation Sans",
sans-serif;font-variant-numeric:tabular-nums}
svg .tick{fill:var(--soft)}svg .name{fill:var(--ink);font-size:11.5px}svg .num{font-size:10.5px;fill:var(--soft)}
svg .real{fill:var(--real)}svg .made{fill:var(--made)}svg .gone{fill-opacity:.75}
svg .line{fill:none;stroke:var(--made);stroke-width:1.7;stroke-linejoin:round}
svg .axis{stroke:var(--soft);stroke-width:1}svg .rule{stroke:var(--line);stroke-width:1}
svg .hit{fill:transparent}svg .hit:hover{fill:var(--ink);fill-opacity:.1}
svg .mark{stroke:var(--ink);stroke-width:2.5}svg .whisker{stroke:var(--ink);stroke-width:1.3}
svg .base{stroke:var(--soft);stroke-width:1.5;stroke-dasharray:2 2}
svg.mini{width:190px;height:22px}
.nan{fill:none;stroke:var(--soft);stroke-width:.8}svg .cell:hover{stroke:var(--ink);stroke-width:1.5}
footer{padding-bottom:56px;margin-top:44px;font-size:.86rem;color:var(--soft)}
footer p{border-top:1px solid var(--line);padding-top:20px;max-width:none}
@media(max-width:560px){header{padding-top:22px}section.part{padding-top:26px;margin-top:26px}
main,header,footer,.banner p{padding-left:14px;padding-right:14px}th,td{padding-right:12px}}
@media(prefers-reduced-motion:reduce){html{scroll-behavior:auto}}
@page{size:A4;margin:16mm 14mm 18mm}
@media print{body{font-size:10.5pt;background:#fff}*{print-color-adjust:exact;-webkit-print-color-adjust:exact}
main,header,footer,.banner p{max-width:none;padding-left:0;padding-right:0}
.banner p{padding-left:10px}nav,.skip{display:none}
.card,.tile,figure,tr{break-inside:avoid}h2,h3,.lead,caption,thead,h3+p,.key{break-after:avoid}
.grid{grid-template-columns:1fr 1fr}.tiles{grid-template-columns:1fr 1fr}
.maps{grid-template-columns:1fr 1fr 1fr;gap:8px}
.scroll{overflow:visible}details:not(.long)::details-content{content-visibility:visible;block-size:auto}
table{font-size:9pt}th,td{padding-right:9px}tbody th{min-width:80px}td.t{min-width:6em}}
"""


def css() -> str:
    """The whole style sheet."""
    light, dark = (_variables(LIGHT, _SHADES_LIGHT), _variables(DARK, _SHADES_DARK))
    shades = "".join(f"svg .s{_sign(k)}{{fill:var(--s{_sign(k)})}}" for k in range(-STEPS, STEPS + 1))
    # Paper is light, whatever the screen is.
    dark_rule = f"@media screen and (prefers-color-scheme:dark){{:root{{color-scheme:dark;{dark}}}}}"
    return f":root{{color-scheme:light;{light}}}{dark_rule}{_RULES}{shades}"


def shade(share: float) -> str:
    """The class of a cell whose value is `share` of the end of the scale, between -1 and 1."""
    return f"s{_sign(round(max(-1.0, min(1.0, share)) * STEPS))}"


def _sign(k: int) -> str:
    return f"n{-k}" if k < 0 else f"p{k}"


def _variables(palette: dict[str, str], shades: tuple[str, tuple[str, str], tuple[str, str]]) -> str:
    names = dict(palette)
    middle, below, above = shades
    for k in range(-STEPS, STEPS + 1):
        names[f"s{_sign(k)}"] = _mix((middle, *(below if k < 0 else above)), abs(k) / STEPS)
    return ";".join(f"--{name}:{colour}" for name, colour in names.items())


def _mix(stops: tuple[str, ...], share: float) -> str:
    """The colour at `share` of the way through evenly spaced stops."""
    place = share * (len(stops) - 1)
    i = min(int(place), len(stops) - 2)
    pairs = zip(_channels(stops[i]), _channels(stops[i + 1]))
    return "#" + "".join(f"{round(a + (b - a) * (place - i)):02x}" for a, b in pairs)


def _channels(colour: str) -> list[int]:
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
