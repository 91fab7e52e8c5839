# Prints "count TAB word" for each word of a UTF-8 text, read as bytes.
#
# A word is letters and digits, with apostrophes and dashes inside it. Bytes from 128 on are letters, except for the
# marks and symbols that are cut out first.

{
  if ($0 ~ /[\200-\377]/) {
    gsub(/\342\200[\230\231]/, "'")                                  # curly apostrophes
    gsub(/\342\200[\220\221]/, "-")                                  # hyphens
    gsub(/\302[\200-\251\253-\264\266-\271\273-\277]/, " ")          # signs of Latin-1: no-break space, section, guillemets
    gsub(/\342[\200-\257][\200-\277]/, " ")                          # dashes, quotes, arrows, symbols
    gsub(/\343\200[\200-\277]/, " ")                                 # marks of East Asia
    gsub(/\357\274[\200-\217\232-\240]/, " ")                        # and their wide forms
    gsub(/\357\270[\200-\217]/, " ")                                 # selectors that follow emoji
    gsub(/\360\237[\200-\277][\200-\277]/, " ")                      # emoji
  }
  number = split($0, words, /[^A-Za-z0-9'\200-\377-]+/)
  for (i = 1; i <= number; i++) {
    word = words[i]
    if (!(word in known)) known[word] = normal(word)
    if (known[word] != "") counts[known[word]]++
  }
}

END { for (word in counts) print counts[word] "\t" word }

# Lower case, without apostrophes and dashes at the ends.
function normal(word) {
  sub(/^['-]+/, "", word)
  sub(/['-]+$/, "", word)
  word = tolower(word)
  return word ~ /[\303\316\320]/ ? fold(word) : word
}

# Lower case for Latin-1, Greek and Cyrillic, which tolower does not know byte by byte.
function fold(word,   result, i, lead, trail, code) {
  if (!prepared) prepare()
  result = ""
  for (i = 1; i <= length(word); i++) {
    lead = substr(word, i, 1)
    trail = substr(word, i + 1, 1)
    if ((lead trail) in lower) {
      result = result lower[lead trail]
      i++
    } else result = result lead
  }
  return result
}

function prepare(   code) {
  prepared = 1
  for (code = 192; code <= 222; code++) if (code != 215) pair(code, code + 32)
  for (code = 913; code <= 939; code++) if (code != 930) pair(code, code + 32)
  for (code = 1040; code <= 1071; code++) pair(code, code + 32)
  for (code = 1024; code <= 1039; code++) pair(code, code + 80)
}

function pair(from, to) { lower[two(from)] = two(to) }
function two(code) { return sprintf("%c%c", 192 + int(code / 64), 128 + code % 64) }
