"""The languages and countries whose names, addresses and numbers can be made."""

LOCALES = (
    "ar_AA", "ar_DZ", "ar_PS", "ar_SA", "az_AZ", "bg_BG", "cs_CZ", "da_DK", "de_AT", "de_CH", "de_DE",
    "el_GR", "en_GB", "en_IE", "en_IN", "en_KE", "en_NZ", "en_PK", "en_TH", "en_US", "es_AR", "es_CA", "es_CL",
    "es_CO", "es_ES", "es_MX", "et_EE", "fa_IR", "fi_FI", "fr_BE", "fr_CA", "fr_CH", "fr_DZ", "fr_FR", 
    "ga_IE", "he_IL", "hi_IN", "hr_HR", "hu_HU", "hy_AM", "id_ID", "is_IS", "it_IT", "ja_JP", "ka_GE", "ko_KR",
    "lt_LT", "lv_LV", "mk_MK", "mr_IN", "ne_NP", "nl_BE", "nl_NL", "no_NO", "or_IN", "pl_PL", "pt_BR", "pt_PT",
    "ro_RO", "ru_RU", "si_LK", "sk_SK", "sl_SI", "sv_SE", "ta_IN", "th_TH", "tr_TR", "tw_GH", "uk_UA", "uz_UZ",
    "yo_NG", "zh_CN", "zh_TW", "zu_ZA",
)  # fmt: skip
# Where the family name comes first, and what stands between the two.
FAMILY_FIRST = {"hu_HU": " ", "ja_JP": " ", "ko_KR": "", "zh_CN": "", "zh_TW": ""}
