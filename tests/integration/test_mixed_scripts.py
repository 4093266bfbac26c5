"""Questions in their own script, in a memory that also has notes in English."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from recollect import Memory

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SHORT = (
    "We painted the kitchen green.",
    "The car needs new tyres.",
    "Lunch with Tom on Friday.",
    "The printer is out of ink.",
    "Grandma's birthday is in May.",
    "The gate code changed.",
    "Milk, eggs, bread and rice.",
    "The heating was serviced.",
)
LONGER = (
    (
        "We spent the weekend in the mountains. The hut was cold, but the view over the valley "
        "was worth the climb, and the children slept all the way home."
    ),
    (
        "The landlord agreed to replace the boiler before winter. He will send two offers, and "
        "we may choose the day on which the workers come."
    ),
    (
        "The team decided to move the release to the second week of March, because the tests "
        "of the payment service were not finished in time."
    ),
    (
        "Our neighbour keeps bees behind the barn. She gives us a jar of honey every autumn "
        "and borrows our ladder in exchange for it."
    ),
    (
        "The library closes at six on Thursdays. Return the atlas and the two novels before "
        "the end of the month, otherwise there is a small fee."
    ),
    (
        "The router in the hall restarts every night. The provider said that the new firmware "
        "would fix it and asked us to wait for a letter."
    ),
    (
        "For the garden we ordered forty tulip bulbs, ten bags of soil and a new hose. The "
        "delivery should arrive on a Tuesday morning."
    ),
    (
        "The dentist recommends a check every six months. The next appointment is after the "
        "summer holidays, and the insurance pays half of it."
    ),
)
ASKED = {
    "hi": {
        "हमारी तस्वीरें कहाँ सुरक्षित हैं": "हमारी पारिवारिक तस्वीरें तहखाने में रखी हार्ड डिस्क पर सहेजी गई हैं।",
        "चिकित्सक ने पिताजी को क्या करने को कहा": "डॉक्टर ने पिताजी को सुबह की सैर करने की सलाह दी है।",
        "कार का बीमा कब बढ़ाना है": "नई गाड़ी का बीमा हर साल जून में नवीनीकृत होता है।",
        "बिजली के पैसे कौन देता है": "बिजली का बिल मीरा के खाते से भरा जाता है।",
        "पंप की मरम्मत किसने की": "बगीचे में पानी देने का पंप खराब हो गया था, मोहन ने उसे ठीक किया।",
    },
    "ar": {
        "أين نحتفظ بصورنا": "صور العائلة محفوظة على القرص الصلب في القبو.",
        "بماذا أوصى الدكتور أبي": "نصح الطبيب والدي بالمشي كل صباح.",
        "متى ينتهي تأمين العربة": "يتجدد تأمين السيارة الجديدة كل عام في شهر يونيو.",
        "من يسدد ثمن الكهرباء": "تُدفع فاتورة الكهرباء من حساب مريم.",
        "من قام بتصليح المضخة": "تعطلت مضخة الري في الحديقة وأصلحها يوسف.",
    },
    "ru": {
        "где лежат наши снимки": "Семейные фотографии хранятся на жёстком диске в подвале.",
        "что доктор рекомендовал папе": "Врач посоветовал отцу гулять каждое утро.",
        "когда платить за автомобиль": "Страховка новой машины продлевается каждый год в июне.",
        "кто платит за свет": "Счёт за электричество оплачивается с карты Марины.",
        "кто отремонтировал помпу": "Насос для полива в саду сломался, Иван его починил.",
    },
    "ja": {
        "アルバムの画像はどこにあるの": "家族の写真は地下室のハードディスクに保存してある。",
        "先生はお父さんに何と言ったか": "医者は父に毎朝散歩するように勧めた。",
        "自動車の契約はいつまで": "新しい車の保険は毎年六月に更新する。",
        "光熱費は誰が負担しているか": "電気代は真理子の口座から払っている。",
        "誰が修理したの": "庭の水やりのポンプが壊れて、健二が直した。",
    },
}
"""The question and the note that answers it."""


@pytest.mark.parametrize("language", ASKED)
@pytest.mark.parametrize("beside", [SHORT, LONGER, SHORT + LONGER], ids=["short", "longer", "both"])
def test_notes_in_english_take_no_first_place_from_notes_in_the_language_of_the_question(
    workspace: Path,
    environ: dict[str, str],
    write: Callable[[str, str], Path],
    language: str,
    beside: tuple[str, ...],
) -> None:
    for number, text in enumerate(ASKED[language].values()):
        write(f"memory/own-{number}.md", f"{text}\n")

    def found_first() -> list[bool]:
        with Memory.open(workspace, environ=environ) as memory:
            memory.sync()
            answers = [memory.search(question) for question in ASKED[language]]
        return [
            bool(answer.hits) and answer.hits[0].path == f"memory/own-{number}.md"
            for number, answer in enumerate(answers)
        ]

    alone = found_first()
    for number, text in enumerate(beside):
        write(f"memory/english-{number}.md", f"{text}\n")

    assert alone == found_first()
