"""Whether a text is in English, which decides the local model that embeds it.

Frequent function words decide, and letters that English does not use. A short text with neither
counts as English. No other language is told from another: docs/decisions/vectors.md.
"""

from __future__ import annotations

import re

from recollect.text.scripts import latin_share

_MOST_CHARS = 4000  # of a text that are looked at: a page says enough
_LATIN_SHARE = 0.5  # of the letters; with less, most of a text is in another script
_EVIDENCE = re.compile(r"[^\W\d_]+|[¿¡]")

_ENGLISH_WORDS = """
about after an and any are at be because been before but by can could did does every for from get
had has have he her him his how if into is it its just like my not now of only our out said she
should some still than that the their them then there these they this to until up us we were what
when where which who why will with would you your
"""
_OTHER_WORDS = """
¿ ¡
aber auch auf aus bei beim bis bitte das dass dem den der des dich dir doch durch ein eine einem
einen einer eines es für gegen gibt haben hast hatte ich ihm ihn ihr ihre ist kann kein keine
keiner können mehr mein meine mich mir mit nach nicht nichts noch nur oder ohne schon sein seine
seit sich sie sind soll über um und uns unser unsere unserem vom von vor wann warum weil welche
welchen welcher welches wenn wer werden wie wieder wieviel wird wo wurde zu zum zur zwischen
aux avec ce cela ces cet cette combien dans depuis donc du elle elles est et été était il ils je
la laquelle le les leur lui mais même moi mon nos notre nous où pas pendant peut pourquoi quand
que quel quelle quelles quels qui quoi sa sans ses sont sous un une vos votre vous
al algo antes como cómo con cual cuál cuáles cuando cuándo cuánto cuánta cuántos cuántas de del
desde donde dónde el ella ellos en entre esa ese eso esta está están estas este esto fue fueron
hace hasta las lo los más mis muy nada otra otro para pero por porque qué quién quiénes se según
ser sí sobre su sus también tiene todo todos una unos yo
à às ao aos até com da dela dele depois ela ele eles em então essa esse eu foi foram isso já mas
meu minha muito na não nas nem num numa onde os ou pela pelo pra qual quais quando quanto quanta
quantos quantas quem são sem seu seus só sua suas tem têm uma umas vai você
agli alla alle anche che chi cosa dal dalla degli dei della delle dello di dopo gli io lei loro
mio nel nella nelle noi non perché più prima quale quali quanti quella quello questa questo sono
stato sul sulla suo tra tutti
aan als bij dat deze een geen haar heb hebben heeft het hij hoe hoeveel ik jij maar meer mijn naar
niet nog ons onze ook uit veel voor waar waarom wanneer wat werd wij worden zijn zo zonder zou
att av där det efter eller ett från för hade har hon hur inte jag med mig mina mycket när och
också på sig ska som var vara vad är
af blev fra hvad hvem hvor hvordan hvornår ikke jeg meget og ved
bez był była czy dla gdzie ile jak jest kiedy kto nie od po przez się są tak za że
bir bu için kadar nerede nasıl ve yok
"""
"""Function words of ten languages that are no English words."""
_ENGLISH, _OTHER = frozenset(_ENGLISH_WORDS.split()), frozenset(_OTHER_WORDS.split())


def is_english(text: str) -> bool:
    """Return whether a text is in English, as far as its words and letters tell."""
    text = text[:_MOST_CHARS]
    if latin_share(text) < _LATIN_SHARE:
        return False
    english = other = 0
    for word in _EVIDENCE.findall(text):
        lower = word.lower()
        if lower in _ENGLISH:
            english += 1
        elif lower in _OTHER:
            other += word == lower or (len(word) > 1 and not word.isupper())  # DE, EN: codes
        elif not word.isascii():
            other += word[0] == lower[0]  # a name may have any letters
    return english >= other
