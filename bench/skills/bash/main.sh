list=${SANDBOX_INPUT#*[}
IFS=, numbers=(${list%%]*})
sum=0 largest=${numbers[0]}
for number in "${numbers[@]}"; do
  ((sum += number, largest = number > largest ? number : largest))
done
echo "{\"count\": ${#numbers[@]}, \"sum\": $sum, \"largest\": $largest}" >"$SANDBOX_OUTPUT"
