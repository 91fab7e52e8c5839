# Reads {"text": "...", "top": 10} from JSON, prints the text decoded as UTF-8, and writes top to top_file.
#
# The JSON is cut at its backslashes, then at its quotes: every piece is looked at once, so a large input takes
# linear time. The text is printed piece by piece, since growing one long string is slow in awk.

BEGIN {
  RS = "\003"            # Cannot stand in JSON, so the whole input is one record.
  top = "10"
  for (code = 128; code < 256; code++) byte[code] = sprintf("%c", code)
  plain["n"] = "\n"; plain["r"] = "\n"; plain["t"] = "\t"; plain["b"] = " "; plain["f"] = "\n"; plain["/"] = "/"; plain["\""] = "\""
}

{ json = json $0 }

END {
  count = split(json, pieces, "\\")
  read_piece(pieces[1])
  for (at = 2; at <= count; at++) {
    if (!in_string) fail("a backslash outside a string")
    if (pieces[at] == "") {
      # Two backslashes in a row: one of the text, and the next piece starts with no escape.
      emit("\\")
      at++
      read_piece(pieces[at])
    } else read_escape(pieces[at])
  }
  flush_high()
  if (in_string || depth != 0 || !seen_object) fail("it ends too early")
  if (!seen_text) fail("there is no text in it: {\"text\": \"some words\"}")
  if (top !~ /^[0-9]+$/ || top + 0 < 1 || top + 0 > 1000) fail("top must be a whole number from 1 to 1000")
  print top > top_file
  printf "\n"
}

# A piece that starts with the letter of an escape.
function read_escape(piece,   letter) {
  letter = substr(piece, 1, 1)
  if (letter == "u") {
    emit_code(hex(substr(piece, 2, 4)))
    read_piece(substr(piece, 6))
    return
  }
  if (!(letter in plain)) fail("an unknown escape")
  emit(plain[letter])
  read_piece(substr(piece, 2))
}

# A piece without escapes: texts and structure by turns, divided by quotes.
function read_piece(piece,   parts, number, i) {
  if (piece == "") return
  number = split(piece, parts, "\"")
  for (i = 1; i <= number; i++) {
    if (i > 1) toggle()
    if (parts[i] == "") continue
    if (in_string) emit(parts[i])
    else read_structure(parts[i])
  }
}

function toggle() {
  if (in_string) {
    flush_high()
    in_string = 0
    if (capture) seen_text = 1
    else if (depth == 1 && !after_colon) key = current
    capture = 0
    return
  }
  in_string = 1
  current = ""
  capture = (depth == 1 && after_colon && key == "text")
}

function read_structure(part,   i, letter) {
  for (i = 1; i <= length(part); i++) {
    letter = substr(part, i, 1)
    if (letter == "{" || letter == "[") {
      if (depth == 0 && letter == "[") fail("it is a list, not an object")
      depth++
      seen_object = 1
    } else if (letter == "}" || letter == "]") {
      depth--
      if (depth < 0) fail("a bracket too many")
    } else if (depth == 1 && letter == ":") {
      after_colon = 1
      if (key == "top") top = ""
    } else if (depth == 1 && letter == ",") {
      after_colon = 0
      key = ""
    } else if (depth == 1 && after_colon && key == "top" && letter !~ /[ \t\r\n]/) top = top letter
  }
}

# A piece of the string that is being read: printed when it is the text, kept when it may be a key.
function emit(piece) {
  flush_high()
  if (capture) printf "%s", piece
  else if (length(current) < 100) current = current piece
}

# One UTF-16 unit. A pair of surrogates is one character; half a pair becomes the replacement character.
function emit_code(code) {
  if (high && code >= 56320 && code <= 57343) {
    code = 65536 + (high - 55296) * 1024 + (code - 56320)
    high = 0
    emit(utf8(code))
    return
  }
  flush_high()
  if (code >= 55296 && code <= 56319) high = code
  else if (code >= 56320 && code <= 57343) emit(utf8(65533))
  else if (code < 32) emit("\n")
  else emit(utf8(code))
}

function flush_high() {
  if (!high) return
  high = 0
  emit(utf8(65533))
}

function utf8(code) {
  if (code < 128) return sprintf("%c", code)
  if (code < 2048) return byte[192 + int(code / 64)] byte[128 + code % 64]
  if (code < 65536) return byte[224 + int(code / 4096)] byte[128 + int(code / 64) % 64] byte[128 + code % 64]
  return byte[240 + int(code / 262144)] byte[128 + int(code / 4096) % 64] byte[128 + int(code / 64) % 64] byte[128 + code % 64]
}

function hex(digits,   i, value, digit) {
  if (length(digits) != 4) fail("a broken \\u escape")
  value = 0
  for (i = 1; i <= 4; i++) {
    digit = index("0123456789abcdef", tolower(substr(digits, i, 1)))
    if (digit == 0) fail("a broken \\u escape")
    value = value * 16 + digit - 1
  }
  return value
}

function fail(reason) {
  print "error: the input cannot be used: " reason > "/dev/stderr"
  exit 1
}
