module skillbox.example/agent

go 1.19

require github.com/devs-group/skillbox/sdks/go v0.0.0

replace github.com/devs-group/skillbox/sdks/go => ../../sdks/go
